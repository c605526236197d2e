package io.punctual.client;

import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.net.http.HttpResponse.BodySubscriber;
import java.nio.ByteBuffer;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.concurrent.Flow;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The body of an answer that does not end. An interrupt ends a read: the stream of the JDK 17 ignores it and waits on.
 * One thread reads, and another one may close.
 */
final class StreamedBody extends InputStream implements BodySubscriber<InputStream> {
    /** Wakes a reader when nothing more comes. */
    private static final List<ByteBuffer> END = List.of();

    /** Has one part and the end at most, because the next part is requested when this one is taken. */
    private final BlockingQueue<List<ByteBuffer>> arrived = new LinkedBlockingQueue<>();

    private volatile Flow.Subscription subscription;
    private volatile Throwable failure;
    private volatile boolean isClosed;
    private Iterator<ByteBuffer> buffers = END.iterator();
    private ByteBuffer current = ByteBuffer.allocate(0);
    private boolean isEnded;

    @Override
    public CompletionStage<InputStream> getBody() {
        return CompletableFuture.completedFuture(this);
    }

    @Override
    public void onSubscribe(Flow.Subscription begun) {
        subscription = begun;
        if (isClosed) begun.cancel();
        else begun.request(1);
    }

    @Override
    public void onNext(List<ByteBuffer> part) {
        if (part.isEmpty()) subscription.request(1);
        else arrived.add(part);
    }

    @Override
    public void onError(Throwable thrown) {
        failure = thrown;
        arrived.add(END);
    }

    @Override
    public void onComplete() {
        arrived.add(END);
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (length == 0) return 0;
        while (!current.hasRemaining()) {
            if (buffers.hasNext()) current = buffers.next();
            else if (!hasNextPart()) return -1;
        }
        int count = Math.min(length, current.remaining());
        current.get(bytes, offset, count);
        return count;
    }

    private boolean hasNextPart() throws IOException {
        if (!isEnded) {
            List<ByteBuffer> part = taken();
            isEnded = part == END;
            buffers = part.iterator();
        }
        if (isClosed) throw new IOException("the stream is closed");
        if (!isEnded) subscription.request(1);
        else if (failure != null) throw new IOException(failure.getMessage(), failure);
        return !isEnded;
    }

    private List<ByteBuffer> taken() throws IOException {
        try {
            return arrived.take();
        } catch (InterruptedException interrupted) {
            close();
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the reader was interrupted");
        }
    }

    @Override
    public void close() {
        isClosed = true;
        if (subscription != null) subscription.cancel();
        arrived.add(END);
    }
}
