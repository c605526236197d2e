package punctual

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strings"
)

// StreamEvents says which events to read.
type StreamEvents struct {
	// Namespaces are names, or prefixes such as team-*. All that the key may read if empty.
	Namespaces []string
	// Types are types of events. All if empty.
	Types []string
	// LastEventID is the ID of the last event before an interruption of up to a minute.
	LastEventID string
}

// StreamEvent is one event.
type StreamEvent struct {
	// Type is created, changed, cancelled, replayed, started, delivered, retried, dead, skipped, gap or nodes.
	Type string
	// ID: send it as LastEventID to continue here.
	ID string
	// Data has namespace, timerId, fireId, at and state for events of timers.
	Data json.RawMessage
}

// Events has the stream of events.
type Events struct{ client *Client }

// mostLineBytes: a longer line is no event of this service.
const mostLineBytes = 1 << 20

// Stream reads what happens to timers, as it happens, until the service ends the stream or the reader stops. If the connection
// breaks, the error is the last pair: begin again with the last ID. It is for watching. A program that must not miss anything uses
// webhooks.
func (e *Events) Stream(ctx context.Context, request StreamEvents, options ...CallOption) iter.Seq2[*StreamEvent, error] {
	return func(yield func(*StreamEvent, error) bool) {
		body, err := e.open(ctx, request, options)
		if err != nil {
			yield(nil, err)
			return
		}
		defer body.Close()
		lines := bufio.NewScanner(body)
		lines.Buffer(nil, mostLineBytes)
		var event StreamEvent
		for lines.Scan() {
			if line := lines.Text(); line != "" {
				event.read(line)
				continue
			}
			// An empty line ends an event. Without a type it was a comment, which keeps the connection open.
			if complete := event; complete.Type != "" && !yield(&complete, nil) {
				return
			}
			event = StreamEvent{}
		}
		if err := lines.Err(); err != nil {
			yield(nil, e.failureOf(ctx, err))
		}
	}
}

func (e *Events) open(ctx context.Context, request StreamEvents, options []CallOption) (io.ReadCloser, error) {
	query := url.Values{}
	if len(request.Namespaces) > 0 {
		query.Set("namespaces", strings.Join(request.Namespaces, ","))
	}
	if len(request.Types) > 0 {
		query.Set("types", strings.Join(request.Types, ","))
	}
	path := "events/stream"
	if len(query) > 0 {
		path += "?" + query.Encode()
	}
	connection := e.client.connection
	settings := connection.settingsOf(options)
	header := settings.header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Accept", "text/event-stream")
	if request.LastEventID != "" {
		header.Set("Last-Event-Id", request.LastEventID)
	}
	body, err := connection.open(ctx, path, header, settings)
	var failure *Error
	if errors.As(err, &failure) {
		return nil, withWritten(failure, WrittenNo)
	}
	return body, err
}

func (e *Events) failureOf(ctx context.Context, err error) error {
	place := e.client.connection.url
	if ctx.Err() != nil {
		return withWritten(endedByCaller(place, ctx.Err()), WrittenNo)
	}
	return withWritten(noAnswer(place, err), WrittenNo)
}

func (event *StreamEvent) read(line string) {
	name, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "event":
		event.Type = value
	case "id":
		event.ID = value
	case "data":
		event.Data = append(event.Data, value...)
	}
}
