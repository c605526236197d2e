package punctual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"sync/atomic"
	"time"
)

// connection sends calls: with the key, with a time limit for each try, and again if that is harmless (repeats.go). It also
// compares the clock of the service with the local one, because the client turns delays into instants.
type connection struct {
	url      string
	keyFunc  func(context.Context) (string, error)
	usual    callSettings
	header   http.Header
	http     *http.Client
	logger   *slog.Logger
	hooks    Hooks
	clock    clock
	maxBytes int64
	// serverAhead is the correction of the local clock, in nanoseconds.
	serverAhead atomic.Int64
}

// outgoing is one call, ready to send.
type outgoing struct {
	operation string
	// path is below /api/v1.
	path  string
	body  []byte
	class repeatClass
}

const (
	// usualMaxBytes is enough for a page of timers with the largest payloads.
	usualMaxBytes = 128 << 20
	// clockTolerance: the header Date has whole seconds, and answers take a while.
	clockTolerance = 2 * time.Second
)

// now is the time of the service, as far as its answers have shown it.
func (c *connection) now() time.Time {
	return c.clock.now().Add(time.Duration(c.serverAhead.Load()))
}

func (c *connection) settingsOf(options []CallOption) callSettings {
	settings := c.usual
	for _, option := range options {
		option(&settings)
	}
	return settings
}

// send returns the answer, or the error of the last try.
func (c *connection) send(ctx context.Context, call *outgoing, settings callSettings) (*Answer, error) {
	written := WrittenNo
	for attempt := 1; ; attempt++ {
		answer, err := c.try(ctx, call, attempt, settings)
		var failure *Error
		if !errors.As(err, &failure) {
			return answer, err
		}
		if failure.Written == WrittenUnknown && call.class != repeatRead {
			written = WrittenUnknown
		}
		wait, isShort := waitBefore(attempt, failure.RetryAfter, c.clock.random())
		isLast := attempt > settings.maxRetries || !mayRepeat(failure, call.class) || !isShort
		if deadline, has := ctx.Deadline(); isLast || has && !c.clock.now().Add(wait).Before(deadline) {
			return nil, withWritten(failure, written)
		}
		if c.logger != nil {
			c.logger.DebugContext(ctx, "punctual: the call is tried again",
				"operation", call.operation, "wait", wait, "code", failure.Code)
		}
		c.clock.sleep(ctx, wait)
		if ctx.Err() != nil {
			return nil, withWritten(endedByCaller(c.url, ctx.Err()), written)
		}
	}
}

func (c *connection) try(ctx context.Context, call *outgoing, attempt int, settings callSettings) (*Answer, error) {
	event := RequestEvent{Operation: call.operation, Attempt: attempt}
	started := c.clock.now()
	if c.hooks.OnRequest != nil {
		c.hooks.OnRequest(ctx, event)
	}
	status, header, text, err := c.exchange(ctx, call, settings)
	ended := c.clock.now()
	if err == nil {
		c.compareClocks(ctx, header, started, ended)
		if status != http.StatusOK {
			err = badAnswer(c.url, status, header, text)
		}
	}
	var failure *Error
	if errors.As(err, &failure) && c.hooks.OnFailure != nil {
		c.hooks.OnFailure(ctx, FailureEvent{RequestEvent: event, Err: failure, Duration: ended.Sub(started)})
	}
	if err != nil {
		return nil, err
	}
	requestID := header.Get("X-Request-Id")
	if c.hooks.OnAnswer != nil {
		c.hooks.OnAnswer(ctx, AnswerEvent{event, status, requestID, ended.Sub(started)})
	}
	return &Answer{Text: text, RequestID: requestID}, nil
}

// exchange makes one request and reads its complete answer, within the time limit.
func (c *connection) exchange(ctx context.Context, call *outgoing, settings callSettings) (int, http.Header, []byte, error) {
	limit, err := c.limitOf(ctx, settings)
	if err != nil {
		return 0, nil, nil, err
	}
	defer limit.end()
	header := settings.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	response, err := c.request(limit.ctx, http.MethodPost, call.path, call.body, header)
	if err != nil {
		return 0, nil, nil, limit.failureOf(err)
	}
	defer response.Body.Close()
	text, err := c.readAll(response.Body)
	if err != nil {
		return 0, nil, nil, limit.failureOf(err)
	}
	return response.StatusCode, response.Header, text, nil
}

// open begins to read an answer that does not end. The caller must close the body. Only the context ends it then.
func (c *connection) open(ctx context.Context, path string, header http.Header, settings callSettings) (io.ReadCloser, error) {
	limit, err := c.limitOf(ctx, settings)
	if err != nil {
		return nil, err
	}
	response, err := c.request(limit.ctx, http.MethodGet, path, nil, header)
	if err != nil {
		defer limit.end()
		return nil, limit.failureOf(err)
	}
	if response.StatusCode == http.StatusOK {
		limit.stop()
		return &stream{response.Body, limit}, nil
	}
	defer limit.end()
	defer response.Body.Close()
	text, err := c.readAll(response.Body)
	if err != nil {
		return nil, limit.failureOf(err)
	}
	return nil, badAnswer(c.url, response.StatusCode, response.Header, text)
}

type stream struct {
	io.ReadCloser
	limit *tryLimit
}

func (s *stream) Close() error {
	defer s.limit.end()
	return s.ReadCloser.Close()
}

// request sends one HTTP request. The header wins over the header of the client.
func (c *connection) request(ctx context.Context, method, path string, body []byte, header http.Header) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+"/api/v1/"+path, bytes.NewReader(body))
	if err != nil {
		return nil, refused("request", "cannot be sent: "+err.Error())
	}
	key, err := c.keyFunc(ctx)
	if err != nil {
		return nil, &keyError{err}
	}
	for _, headers := range []http.Header{c.header, header} {
		for name, values := range headers {
			request.Header[name] = values
		}
	}
	if key != "" {
		if !isVisible(key) {
			return nil, refused("key", "must have visible ASCII characters only")
		}
		request.Header.Set("Authorization", "Bearer "+key)
	}
	return c.http.Do(request)
}

// keyError is a failure of KeyFunc. Nothing was sent.
type keyError struct{ error }

func isVisible(text string) bool {
	for _, character := range []byte(text) {
		if character <= ' ' || character > '~' {
			return false
		}
	}
	return true
}

func (c *connection) readAll(body io.Reader) ([]byte, error) {
	text, err := io.ReadAll(io.LimitReader(body, c.maxBytes+1))
	if err == nil && int64(len(text)) > c.maxBytes {
		err = fmt.Errorf("the answer has more than %d bytes", c.maxBytes)
	}
	return text, err
}

// tryLimit ends one try: after its time limit, or with the context of the caller.
type tryLimit struct {
	ctx    context.Context
	caller context.Context
	cancel context.CancelCauseFunc
	stop   func()
	limit  time.Duration
	place  string
}

// limitOf fails if the try cannot even begin. Then nothing was sent.
func (c *connection) limitOf(ctx context.Context, settings callSettings) (*tryLimit, error) {
	if ctx.Err() != nil {
		return nil, withWritten(endedByCaller(c.url, ctx.Err()), WrittenNo)
	}
	if settings.timeout <= 0 {
		return nil, refused("timeout", "must be greater than 0")
	}
	limit := settings.timeout
	if deadline, has := ctx.Deadline(); has {
		limit = min(limit, deadline.Sub(c.clock.now()))
	}
	if limit <= 0 {
		return nil, withWritten(endedByCaller(c.url, context.DeadlineExceeded), WrittenNo)
	}
	tryCtx, cancel := context.WithCancelCause(ctx)
	stop := c.clock.after(limit, func() { cancel(errTryTimeout) })
	return &tryLimit{ctx: tryCtx, caller: ctx, cancel: cancel, stop: stop, limit: limit, place: c.url}, nil
}

// failureOf says why the try failed: the limit explains a broken request better than the transport does.
func (l *tryLimit) failureOf(err error) error {
	var known *Error
	var inKey *keyError
	switch {
	case errors.As(err, &inKey):
		return l.keyFailureOf(inKey.error)
	case errors.As(err, &known):
		return known
	case l.caller.Err() != nil:
		return endedByCaller(l.place, l.caller.Err())
	case errors.Is(context.Cause(l.ctx), errTryTimeout):
		return tookTooLong(l.place, l.limit)
	default:
		return noAnswer(l.place, err)
	}
}

// keyFailureOf says why there is no key. KeyFunc gets the context of the try, so it also fails when that ends.
func (l *tryLimit) keyFailureOf(err error) error {
	switch {
	case l.caller.Err() != nil:
		return withWritten(endedByCaller("KeyFunc", l.caller.Err()), WrittenNo)
	case errors.Is(context.Cause(l.ctx), errTryTimeout):
		return withWritten(tookTooLong("KeyFunc", l.limit), WrittenNo)
	default:
		return noKey(err)
	}
}

func (l *tryLimit) end() {
	l.stop()
	l.cancel(nil)
}

func (c *connection) compareClocks(ctx context.Context, header http.Header, started, ended time.Time) {
	date, err := http.ParseTime(header.Get("Date"))
	if err != nil {
		return
	}
	took := ended.Sub(started)
	// The header is the second in which the service answered, so on average it is half a second old.
	ahead := date.Add(500 * time.Millisecond).Sub(started.Add(took / 2)).Round(time.Millisecond)
	corrected := ahead
	if ahead.Abs() <= clockTolerance+took/2 {
		corrected = 0
	}
	before := c.serverAhead.Swap(int64(corrected))
	if c.logger == nil || (before == 0) == (corrected == 0) {
		return
	}
	if corrected == 0 {
		c.logger.WarnContext(ctx, "punctual: the local clock and the clock of the service agree again")
		return
	}
	c.logger.WarnContext(ctx, "punctual: the clock of the service differs from the local clock. Delays are corrected from now on.",
		"secondsAhead", math.Round(ahead.Seconds()))
}
