package punctual

// What only this library has: its options, hooks, logs and contexts.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// recorder is a service that keeps the requests and answers a count.
func recorder(t *testing.T) (*httptest.Server, *[]*http.Request) {
	t.Helper()
	requests := &[]*http.Request{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		*requests = append(*requests, r)
		_, _ = w.Write([]byte(`{"count":0,"capped":false}`))
	}))
	t.Cleanup(server.Close)
	return server, requests
}

func TestOptionsComeFromTheEnvironment(t *testing.T) {
	server, requests := recorder(t)
	t.Setenv("TIMER_URL", server.URL+"/below/")
	t.Setenv("TIMER_API_KEY", "pnct_environment")
	for _, options := range []Options{
		{},
		{Key: "pnct_given"},
		{KeyFunc: func(context.Context) (string, error) { return "pnct_read", nil }},
		{KeyFunc: func(context.Context) (string, error) { return "", nil }},
	} {
		options.Namespace = "a"
		client, err := New(options)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := client.Timers.Count(context.Background(), CountTimers{}); err != nil {
			t.Fatal(err)
		}
	}
	var keys []string
	for _, request := range *requests {
		keys = append(keys, request.Header.Get("Authorization"))
	}
	if want := []string{"Bearer pnct_environment", "Bearer pnct_given", "Bearer pnct_read", ""}; !slices.Equal(keys, want) {
		t.Errorf("the keys are %q", keys)
	}
	if path := (*requests)[0].URL.Path; path != "/below/api/v1/timers/count" {
		t.Errorf("the path is %s", path)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	t.Setenv("TIMER_URL", "")
	if _, err := New(Options{}); err == nil || !strings.Contains(err.Error(), "set TIMER_URL") {
		t.Error(err)
	}
	for _, wrong := range []string{"service:8080", "ftp://x", "http://user:secret@x", "http://x?a=1", "http://[::1"} {
		if _, err := New(Options{URL: wrong}); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
	for _, wrong := range []Options{
		{Timeout: -1}, {MaxRetries: 101}, {DelayFrom: "x"}, {Key: "a", KeyFunc: func(context.Context) (string, error) { return "", nil }},
	} {
		wrong.URL = "http://service.test"
		if _, err := New(wrong); err == nil {
			t.Errorf("%+v is accepted", wrong)
		}
	}
}

func TestHeadersOfTheClientAndOfTheCallAreSent(t *testing.T) {
	server, requests := recorder(t)
	client, err := New(Options{URL: server.URL, Namespace: "a", Header: http.Header{"X-A": {"1"}, "X-C": {"3"}}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.Timers.Count(context.Background(), CountTimers{}, WithHeader("x-b", "2"), WithHeader("x-c", "4")); err != nil {
		t.Fatal(err)
	}
	header := (*requests)[0].Header
	if header.Get("X-A") != "1" || header.Get("X-B") != "2" || header.Get("X-C") != "4" {
		t.Errorf("the header is %v", header)
	}
}

func TestAKeyThatCannotBeReadEndsTheCall(t *testing.T) {
	server, requests := recorder(t)
	closed := errors.New("the vault is closed")
	for _, key := range []func(context.Context) (string, error){
		func(context.Context) (string, error) { return "", closed },
		func(context.Context) (string, error) { return "pnct_\nsecret", nil },
	} {
		failures := 0
		hooks := Hooks{OnFailure: func(context.Context, FailureEvent) { failures++ }}
		client, err := New(Options{URL: server.URL, Namespace: "a", KeyFunc: key, Hooks: hooks})
		if err != nil {
			t.Fatal(err)
		}
		_, err = client.Timers.Count(context.Background(), CountTimers{})
		isRefused := errors.Is(err, ErrInvalidRequest)
		if isClosed := errors.Is(err, closed) && errors.Is(err, ErrAccess); isClosed == isRefused || strings.Contains(err.Error(), "secret") {
			t.Error(err)
		}
		if failures != 1 {
			t.Errorf("the hooks saw %d failures", failures)
		}
	}
	if len(*requests) > 0 {
		t.Error("a request was sent")
	}
}

func TestAKeyThatComesTooLateIsATimeout(t *testing.T) {
	var script *scripted
	untilEnd := func(ctx context.Context) (string, error) {
		script.timeOut()
		<-ctx.Done()
		return "", ctx.Err()
	}
	script = newScripted(t, nil, Options{Namespace: "a", KeyFunc: untilEnd, MaxRetries: -1})
	_, err := script.client.Timers.CancelMany(context.Background(), CancelManyTimers{All: true})
	failure := (&errorWords{Code: Ptr(CodeTimeout), Written: Ptr(WrittenNo), Retryable: Ptr(true)}).compare(t, err)
	if errors.Is(err, context.Canceled) || !strings.Contains(failure.Message, "KeyFunc") {
		t.Errorf("nobody cancelled the call: %v", err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	cancelling := func(ctx context.Context) (string, error) {
		cancel()
		return "", ctx.Err()
	}
	script = newScripted(t, nil, Options{Namespace: "a", KeyFunc: cancelling})
	_, err = script.client.Timers.CancelMany(ctx, CancelManyTimers{All: true})
	(&errorWords{Code: Ptr(CodeAborted), Written: Ptr(WrittenNo)}).compare(t, err)
}

func TestHooksSeeEachTry(t *testing.T) {
	var seen []string
	hooks := Hooks{
		OnRequest: func(_ context.Context, event RequestEvent) { seen = append(seen, "request "+event.Operation) },
		OnAnswer:  func(_ context.Context, event AnswerEvent) { seen = append(seen, "answer "+event.RequestID) },
		OnFailure: func(_ context.Context, event FailureEvent) { seen = append(seen, "failure "+string(event.Err.Code)) },
	}
	body := `{"count":1,"capped":false}`
	tries := []scriptedTry{{Failure: "lost"}, {Headers: map[string]string{"x-request-id": "r-1"}, Body: &body}}
	script := newScripted(t, tries, Options{Namespace: "a", Hooks: hooks})
	if _, err := script.client.Timers.Count(context.Background(), CountTimers{}); err != nil {
		t.Fatal(err)
	}
	want := []string{"request timers.count", "failure connectionLost", "request timers.count", "answer r-1"}
	if !slices.Equal(seen, want) {
		t.Errorf("the hooks saw %q", seen)
	}
}

func TestADifferenceOfTheClocksIsLoggedOnce(t *testing.T) {
	var log bytes.Buffer
	late := scriptedTry{Headers: map[string]string{"date": "Tue, 01 Jan 2030 00:01:00 GMT"}}
	right := scriptedTry{Headers: map[string]string{"date": "Tue, 01 Jan 2030 00:00:00 GMT"}}
	script := newScripted(t, []scriptedTry{late, late, right}, Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for range 3 {
		if _, err := script.client.Do(context.Background(), "service.get", struct{}{}); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "secondsAhead=61") || !strings.Contains(lines[1], "agree again") {
		t.Errorf("the log is %q", lines)
	}
}

func TestADeadlineThatHasPassedSendsNothing(t *testing.T) {
	script := newScripted(t, nil, Options{Namespace: "a"})
	past, cancel := context.WithDeadline(context.Background(), time.Unix(0, 0))
	defer cancel()
	for _, ctx := range []context.Context{past, scriptedDeadline{context.Background(), startOfScript}} {
		_, err := script.client.Timers.Count(ctx, CountTimers{})
		(&errorWords{Code: Ptr(CodeTimeout), Written: Ptr(WrittenNo)}).compare(t, err)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("errors.Is does not find the deadline: %v", err)
		}
	}
	if len(script.sent) > 0 {
		t.Error("a request was sent")
	}
}

func TestACancelledContextEndsTheTryAndTheWait(t *testing.T) {
	reached := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		// The server notices that a caller goes away only after it has read the body.
		_, _ = io.Copy(io.Discard, r.Body)
		close(reached)
		<-r.Context().Done()
	}))
	defer server.Close()
	client, err := New(Options{URL: server.URL, Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-reached
		cancel()
	}()
	_, err = client.Timers.Cancel(ctx, CancelTimer{TimerID: "a"})
	(&errorWords{Code: Ptr(CodeAborted), Written: Ptr(WrittenUnknown), Retryable: Ptr(false)}).compare(t, err)
	_, err = client.Timers.Cancel(ctx, CancelTimer{TimerID: "a"})
	(&errorWords{Code: Ptr(CodeAborted), Written: Ptr(WrittenNo)}).compare(t, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("errors.Is does not find the cause: %v", err)
	}

	waiting, stop := context.WithCancel(context.Background())
	refused, err := New(Options{URL: "http://127.0.0.1:1", Namespace: "a"})
	if err != nil {
		t.Fatal(err)
	}
	refused.connection.clock.sleep = func(ctx context.Context, wait time.Duration) {
		stop()
		systemClock.sleep(ctx, time.Hour)
	}
	_, err = refused.Timers.Count(waiting, CountTimers{})
	(&errorWords{Code: Ptr(CodeAborted), Written: Ptr(WrittenNo)}).compare(t, err)
}

func TestAnAnswerHasALimit(t *testing.T) {
	body := `{"count":1,"capped":false}`
	script := newScripted(t, []scriptedTry{{Body: &body}}, Options{Namespace: "a", MaxRetries: -1})
	script.client.connection.maxBytes = 10
	_, err := script.client.Timers.Count(context.Background(), CountTimers{})
	if err == nil || !strings.Contains(err.Error(), "more than 10 bytes") {
		t.Error(err)
	}
}

func TestAnAnswerWithoutItsObjectIsNotReadable(t *testing.T) {
	ctx := context.Background()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, body := range []string{`{}`, `null`, `{"timer":null,"timers":null}`} {
		script := newScripted(t, []scriptedTry{{Body: &body}, {Body: &body}, {Body: &body}}, Options{Namespace: "a"})
		timers := script.client.Timers
		timer, err := timers.Get(ctx, GetTimer{TimerID: "a"})
		(&errorWords{Code: Ptr(CodeUnreadableAnswer), Written: Ptr(WrittenNo)}).compare(t, err)
		_, err = timers.Create(ctx, CreateTimer{TimerID: "a", ExecuteAt: at})
		(&errorWords{Code: Ptr(CodeUnreadableAnswer), Written: Ptr(WrittenUnknown)}).compare(t, err)
		page, err := timers.List(ListTimers{}).Page(ctx, "")
		(&errorWords{Code: Ptr(CodeUnreadableAnswer), Written: Ptr(WrittenNo)}).compare(t, err)
		if timer != nil || page != nil || !strings.Contains(err.Error(), "timers is missing") {
			t.Errorf("%s: %v, %v, %v", body, timer, page, err)
		}
	}
}

func TestRequestsThatCannotBeMeantAreRefused(t *testing.T) {
	script := newScripted(t, nil, Options{Namespace: "a"})
	timers, ctx := script.client.Timers, context.Background()
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	refusals := map[string]func() error{
		"executeAt": func() error { _, err := timers.Create(ctx, CreateTimer{TimerID: "a"}); return err },
		"payload": func() error {
			_, err := timers.Create(ctx, CreateTimer{TimerID: "a", ExecuteAt: at, Payload: json.RawMessage("{")})
			return err
		},
		"payload cannot": func() error {
			_, err := timers.Create(ctx, CreateTimer{TimerID: "a", ExecuteAt: at, Payload: func() {}})
			return err
		},
		"target.timeout": func() error {
			_, err := timers.Create(ctx, CreateTimer{TimerID: "a", ExecuteAt: at, Target: &Target{Type: TargetWebhook, Timeout: -1e9}})
			return err
		},
		"expireAfter": func() error {
			_, err := timers.Create(ctx, CreateTimer{TimerID: "a", ExecuteAt: at, ExpireAfter: 4000 * Day})
			return err
		},
		"clear": func() error {
			_, err := timers.Update(ctx, UpdateTimer{TimerID: "a", Clear: []string{"timerId"}})
			return err
		},
		"tags is both": func() error {
			_, err := timers.Update(ctx, UpdateTimer{TimerID: "a", Tags: []string{"b"}, Clear: []string{"tags"}})
			return err
		},
		"timeout": func() error { _, err := timers.Get(ctx, GetTimer{TimerID: "a"}, WithTimeout(0)); return err },
		"limit":   func() error { _, err := timers.List(ListTimers{}).Collect(ctx, 0); return err },
	}
	for field, refusal := range refusals {
		err := refusal()
		if !errors.Is(err, ErrInvalidRequest) || !strings.Contains(err.Error(), field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	if len(script.sent) > 0 {
		t.Errorf("%d requests were sent", len(script.sent))
	}
}

func TestAnItemOfCreateManyHasAnError(t *testing.T) {
	at := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	body := `{"results":[{"result":"created","timerId":"a"},{"problem":{"status":409,"code":"timerExists","detail":"d"}},` +
		`{"problem":{"status":429,"code":"quotaExceeded","detail":"d","retryAfterSeconds":10000000000,"written":"no"}}]}`
	script := newScripted(t, []scriptedTry{{Body: &body}}, Options{Namespace: "a"})
	timers := make([]CreateTimer, 3)
	for i := range timers {
		timers[i] = CreateTimer{TimerID: AutoID, ExecuteAt: at}
	}
	items, err := script.client.Timers.CreateMany(context.Background(), timers)
	if err != nil || len(items) != 3 || items[0].Err() != nil {
		t.Fatalf("%v, %+v", err, items)
	}
	(&errorWords{Code: Ptr(CodeTimerExists), Family: Ptr(ErrConflict), Status: Ptr(409), Written: Ptr(WrittenNo)}).compare(t, items[1].Err())
	failure := (&errorWords{Code: Ptr(CodeQuotaExceeded), Family: Ptr(ErrQuota), Retryable: Ptr(true)}).compare(t, items[2].Err())
	if failure.RetryAfter < Day {
		t.Errorf("a long wait becomes %s", failure.RetryAfter)
	}

	timers[2].Delay = -1
	_, err = script.client.Timers.CreateMany(context.Background(), timers)
	if !errors.Is(err, ErrInvalidRequest) || !strings.HasPrefix(err.Error(), "punctual: timers[2].delay must") {
		t.Error(err)
	}
}

func TestDoSendsRawJSONByteForByte(t *testing.T) {
	script := newScripted(t, []scriptedTry{{}}, Options{})
	const text = `{ "dryRun": true, "n": 12345678901234567890 }`
	answer, err := script.client.Do(context.Background(), "timers.replay", json.RawMessage(text))
	if err != nil || string(answer.Text) != "{}" || string(script.sent[0].body) != text {
		t.Errorf("%v, %+v, sent %q", err, answer, script.sent)
	}
	if _, err := script.client.Do(context.Background(), "timers.replay", json.RawMessage("{")); !errors.Is(err, ErrInvalidRequest) {
		t.Error(err)
	}
}

func TestATimerSurvivesJSON(t *testing.T) {
	text := `{"namespace":"a","timerId":"b","state":"dead","revision":7,"fireId":"f","executeAt":"2030-01-01T00:00:00.000Z",` +
		`"attempts":1,"lastAttempt":{"at":"2030-01-01T00:00:00.000Z","status":500,"durationMs":12},` +
		`"target":{"type":"webhook","url":"http://x","method":"POST","timeout":"15s","body":"envelope"},"payload":{"n":1},` +
		`"retryPolicy":{"maxDuration":"1d12h","waits":["1m","1h"]},"correlationId":"c","createdAt":"2030-01-01T00:00:00.000Z",` +
		`"updatedAt":"2030-01-01T00:00:00.000Z","latenessMs":3,"mood":"calm","so \"quoted\"":"<b>"}`
	var timer Timer
	if err := json.Unmarshal([]byte(text), &timer); err != nil {
		t.Fatal(err)
	}
	if timer.Lateness != 3*time.Millisecond || timer.RetryPolicy.MaxDuration != 36*time.Hour || timer.Target.Timeout != 15*time.Second ||
		timer.LastAttempt.Duration != 12*time.Millisecond || !slices.Equal(timer.RetryPolicy.Waits, []time.Duration{time.Minute, time.Hour}) {
		t.Errorf("the durations are %+v", timer)
	}
	again, err := timer.MarshalJSON()
	if err != nil || string(again) != text {
		t.Errorf("%v\ngot  %s\nwant %s", err, again, text)
	}
	var payload struct{ N int }
	if err := timer.DecodePayload(&payload); err != nil || payload.N != 1 {
		t.Errorf("the payload is %+v: %v", payload, err)
	}
	if err := json.Unmarshal([]byte(`{"expireAfter":null,"latenessMs":null}`), &timer); err != nil || timer.Lateness != 3*time.Millisecond {
		t.Errorf("null changes the lateness to %s: %v", timer.Lateness, err)
	}
	if err := (&Timer{}).DecodePayload(&payload); err == nil || !strings.Contains(err.Error(), "no payload") {
		t.Error(err)
	}
}

func TestTheStreamOfEventsIsParsed(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("types") == "wrong" {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write([]byte(`{"code":"invalidRequest","detail":"types"}`))
			return
		}
		if r.URL.Query().Get("namespaces") != "a,b-*" || r.Header.Get("Last-Event-Id") != "7" || r.Header.Get("Accept") != "text/event-stream" {
			t.Errorf("the request is %s with %v", r.URL, r.Header)
		}
		_, _ = w.Write([]byte(": comment\n\nevent: nodes\nid: 8\ndata: {\"missing\":[]}\n\nevent: created\ndata: {}\n\n"))
	}))
	defer server.Close()
	client, err := New(Options{URL: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	request := StreamEvents{Namespaces: []string{"a", "b-*"}, LastEventID: "7"}
	for event, err := range client.Events.Stream(context.Background(), request) {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, event.Type+" "+event.ID+" "+string(event.Data))
	}
	if want := []string{`nodes 8 {"missing":[]}`, "created  {}"}; !slices.Equal(seen, want) {
		t.Errorf("the events are %q", seen)
	}
	for _, err := range client.Events.Stream(context.Background(), StreamEvents{Types: []string{"wrong"}}) {
		if !errors.Is(err, ErrInvalidRequest) {
			t.Error(err)
		}
	}
}
