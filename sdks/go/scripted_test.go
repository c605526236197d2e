package punctual

// Runs the cases of sdks/conformance against this library: a client whose tries follow a script, and a table from operations to
// methods.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"reflect"
	"syscall"
	"testing"
	"time"

	"punctual.dev/client/internal/conformance"
	"punctual.dev/client/internal/wire"
)

type scriptedTry struct {
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    *string           `json:"body"`
	Failure string            `json:"failure"`
}

type sentRequest struct {
	path   string
	body   []byte
	header http.Header
}

// scripted is the network and the clock of a client. Time stands still, except for waits.
type scripted struct {
	client *Client
	tries  []scriptedTry
	sent   []sentRequest
	waits  []time.Duration
	time   time.Time
	// timeOut ends the present try as its time limit would.
	timeOut func()
}

var startOfScript = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func newScripted(t testing.TB, tries []scriptedTry, options Options) *scripted {
	t.Helper()
	script := &scripted{tries: tries, time: startOfScript}
	options.URL = "http://service.test"
	options.HTTPClient = &http.Client{Transport: script}
	client, err := New(options)
	if err != nil {
		t.Fatal(err)
	}
	client.connection.clock = clock{
		now:    func() time.Time { return script.time },
		random: func() float64 { return 0 },
		sleep: func(_ context.Context, wait time.Duration) {
			script.waits = append(script.waits, wait)
			script.time = script.time.Add(wait)
		},
		after: func(_ time.Duration, call func()) func() {
			script.timeOut = call
			return func() {}
		},
	}
	script.client = client
	return script
}

func (s *scripted) RoundTrip(request *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return nil, err
	}
	next := scriptedTry{Failure: "refused"}
	if len(s.sent) < len(s.tries) {
		next = s.tries[len(s.sent)]
	}
	s.sent = append(s.sent, sentRequest{request.URL.Path, body, request.Header})
	switch next.Failure {
	case "refused":
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	case "lost":
		return nil, &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	case "timeout":
		s.timeOut()
		<-request.Context().Done()
		return nil, request.Context().Err()
	}
	text := "{}"
	if next.Body != nil {
		text = *next.Body
	}
	header := http.Header{}
	for name, value := range next.Headers {
		header.Set(name, value)
	}
	return &http.Response{
		StatusCode: max(next.Status, 200), Header: header, Body: io.NopCloser(bytes.NewBufferString(text)), Request: request,
	}, nil
}

// scriptedDeadline is a context whose deadline counts by the clock of the script.
type scriptedDeadline struct {
	context.Context
	at time.Time
}

func (d scriptedDeadline) Deadline() (time.Time, bool) { return d.at, true }

// operation calls one operation of the library with a request in JSON.
type operation func(ctx context.Context, t testing.TB, request json.RawMessage, options ...CallOption) (any, error)

func on[R, A any](call func(context.Context, R, ...CallOption) (A, error)) operation {
	return func(ctx context.Context, t testing.TB, request json.RawMessage, options ...CallOption) (any, error) {
		return call(ctx, requestOf[R](t, request), options...)
	}
}

func onNothing[A any](call func(context.Context, ...CallOption) (A, error)) operation {
	return func(ctx context.Context, _ testing.TB, _ json.RawMessage, options ...CallOption) (any, error) {
		return call(ctx, options...)
	}
}

// onList answers the first page.
func onList[R, T any](list func(R, ...CallOption) *List[T]) operation {
	return func(ctx context.Context, t testing.TB, request json.RawMessage, options ...CallOption) (any, error) {
		return list(requestOf[R](t, request), options...).Page(ctx, "")
	}
}

// operationsOf has every operation of the OpenAPI document, as this library calls it.
func operationsOf(c *Client) map[string]operation {
	return map[string]operation{
		"timers.create": on(c.Timers.Create),
		"timers.createMany": func(ctx context.Context, t testing.TB, request json.RawMessage, options ...CallOption) (any, error) {
			var fields struct{ Timers []json.RawMessage }
			if err := json.Unmarshal(request, &fields); err != nil {
				t.Fatal(err)
			}
			var timers []CreateTimer
			for _, timer := range fields.Timers {
				timers = append(timers, requestOf[CreateTimer](t, timer))
			}
			return c.Timers.CreateMany(ctx, timers, options...)
		},
		"timers.get":        on(c.Timers.Get),
		"timers.update":     on(c.Timers.Update),
		"timers.delete":     on(c.Timers.Cancel),
		"timers.deleteMany": on(c.Timers.CancelMany),
		"timers.list":       onList(c.Timers.List),
		"timers.count":      on(c.Timers.Count),
		"timers.histogram":  on(c.Timers.Histogram),
		"timers.lives":      onList(c.Timers.Lives),
		"timers.activity":   on(c.Timers.Activity),
		"timers.replay":     on(c.Timers.Replay),
		"timers.discard":    on(c.Timers.Discard),
		"bulk.start":        on(c.Bulk.Start),
		"bulk.get":          on(c.Bulk.Get),
		"bulk.list":         onList(c.Bulk.List),
		"bulk.abort":        on(c.Bulk.Abort),
		"cluster.cluster":   onNothing(c.Cluster.Get),
		"clock.advance":     on(c.Clock.Advance),
		"namespaces.put":    on(c.Namespaces.Put),
		"namespaces.get":    on(c.Namespaces.Get),
		"namespaces.list":   onList(c.Namespaces.List),
		"service.get":       on(c.Service.Get),
		"service.pause":     on(c.Service.Pause),
		"service.resume":    on(c.Service.Resume),
		"breakers.list":     onNothing(c.Breakers.List),
		"breakers.reset":    on(c.Breakers.Reset),
		"egress.check":      on(c.Egress.Check),
		"messages.list":     onList(c.Messages.List),
		"messages.get":      on(c.Messages.Get),
		"messages.replay":   on(c.Messages.Replay),
		"messages.discard":  on(c.Messages.Discard),
		"keys.create":       on(c.Keys.Create),
		"keys.rotate":       on(c.Keys.Rotate),
		"keys.revoke":       on(c.Keys.Revoke),
		"keys.revokeLeaked": on(c.Keys.RevokeLeaked),
		"keys.confirm":      on(c.Keys.Confirm),
		"keys.get":          on(c.Keys.Get),
		"keys.list":         onList(c.Keys.List),
		"keys.self":         onNothing(c.Keys.Self),
		"sessions.create":   on(c.Sessions.Create),
		"sessions.end":      onNothing(c.Sessions.End),
		"audit.list":        onList(c.Audit.List),
		"events.stream": func(ctx context.Context, _ testing.TB, _ json.RawMessage, options ...CallOption) (any, error) {
			for event, err := range c.Events.Stream(ctx, StreamEvents{}, options...) {
				return event, err
			}
			return nil, nil
		},
	}
}

func (s *scripted) call(ctx context.Context, t testing.TB, name string, request json.RawMessage, options ...CallOption) (any, error) {
	t.Helper()
	call, isKnown := operationsOf(s.client)[name]
	if !isKnown {
		t.Fatalf("the library has no call for %s", name)
	}
	return call(ctx, t, conformance.Native(t, request), options...)
}

// requestOf reads the request of a case into the type of the library. Some words of the cases have another form in Go:
//   - A create without an id is one with AutoID, because an empty id is refused.
//   - A field that is null is in the list Clear.
//   - Instants and durations are types. A text that is no duration becomes one that is not allowed.
func requestOf[R any](t testing.TB, text json.RawMessage) R {
	t.Helper()
	var request R
	var members map[string]json.RawMessage
	if err := json.Unmarshal(text, &members); err != nil {
		t.Fatal(err)
	}
	value := reflect.ValueOf(&request).Elem()
	set := func(field string, to any) { value.FieldByName(field).Set(reflect.ValueOf(to)) }
	var cleared []string
	for name, member := range members {
		var words string
		isText := json.Unmarshal(member, &words) == nil
		switch {
		case string(member) == "null":
			cleared = append(cleared, name)
		case name == "payload":
			set("Payload", member)
		case name == "delay" && isText:
			duration, err := ParseDuration(words)
			if err != nil {
				duration = -1
			}
			set("Delay", duration)
		default:
			continue
		}
		delete(members, name)
	}
	if cleared != nil {
		set("Clear", cleared)
	}
	if _, isCreate := any(request).(CreateTimer); isCreate && members["timerId"] == nil {
		set("TimerID", AutoID)
	}
	left, err := json.Marshal(members)
	if err != nil {
		t.Fatal(err)
	}
	if err := wire.Decode(left, &request); err != nil {
		t.Fatalf("%T: %v", request, err)
	}
	return request
}

// jsonOf is an answer as the service would write it.
func jsonOf(t testing.TB, answer any) []byte {
	t.Helper()
	value := reflect.ValueOf(answer)
	if value.Kind() != reflect.Slice {
		text, err := wire.Encode(answer)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	items := make([]json.RawMessage, value.Len())
	for i := range items {
		items[i] = jsonOf(t, value.Index(i).Interface())
	}
	text, err := json.Marshal(items)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// errorWords are the members of an error, in the words of the cases.
type errorWords struct {
	Code         *Code    `json:"code"`
	Family       *Family  `json:"family"`
	Status       *int     `json:"status"`
	RequestID    *string  `json:"requestId"`
	Retryable    *bool    `json:"retryable"`
	Written      *Written `json:"written"`
	RetryAfterMs *int64   `json:"retryAfterMs"`
}

func (want *errorWords) compare(t testing.TB, err error) *Error {
	t.Helper()
	var failure *Error
	if !errors.As(err, &failure) {
		t.Fatalf("the call returns %v, not an *Error", err)
	}
	same(t, "code", want.Code, failure.Code)
	same(t, "family", want.Family, failure.Family)
	same(t, "status", want.Status, failure.Status)
	same(t, "requestId", want.RequestID, failure.RequestID)
	same(t, "retryable", want.Retryable, failure.Retryable)
	same(t, "written", want.Written, failure.Written)
	same(t, "retryAfterMs", want.RetryAfterMs, failure.RetryAfter.Milliseconds())
	if want.Family != nil && !errors.Is(err, *want.Family) {
		t.Errorf("errors.Is does not find the family %s", *want.Family)
	}
	return failure
}

func same[T comparable](t testing.TB, name string, want *T, got T) {
	t.Helper()
	if want != nil && *want != got {
		t.Errorf("%s is %v, want %v", name, got, *want)
	}
}
