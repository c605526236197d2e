package webhook_test

// What only this library has: the options of a handler, contexts, and bodies that something else has read.

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"punctual.dev/client/internal/conformance"
	"punctual.dev/client/punctualtest"
	"punctual.dev/client/webhook"
)

func deliver(context.Context, *webhook.Event) (*webhook.Again, error) { return nil, nil }

func newHandler(t *testing.T, options webhook.Options) *webhook.Handler {
	t.Helper()
	options.Secrets = []string{secret}
	handler, err := webhook.NewHandler(options)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

func answerOf(handler http.Handler, request *http.Request) *httptest.ResponseRecorder {
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, request)
	return answer
}

func TestAnEventHasEveryField(t *testing.T) {
	var contract struct {
		Operations any                       `json:"operations"`
		Schemas    map[string]map[string]any `json:"schemas"`
		Codes      any                       `json:"codes"`
	}
	conformance.Read(t, "contract.json", &contract)
	names := map[string]bool{}
	event := reflect.TypeOf(webhook.Event{})
	for i := range event.NumField() {
		name, _, _ := strings.Cut(event.Field(i).Tag.Get("json"), ",")
		names[name] = true
	}
	for _, schema := range []string{"TimerFired", "TimerDead"} {
		if len(contract.Schemas[schema]) == 0 {
			t.Errorf("there is no schema %s", schema)
		}
		for name := range contract.Schemas[schema] {
			if !names[name] {
				t.Errorf("an event has no field %s of %s", name, schema)
			}
		}
	}
}

func TestTheExactTextOfThePayloadArrives(t *testing.T) {
	const text = `{ "n":12345678901234567890 }`
	var payload string
	handler := newHandler(t, webhook.Options{Handle: func(_ context.Context, event *webhook.Event) (*webhook.Again, error) {
		payload = string(event.Payload)
		return nil, nil
	}})
	request := punctualtest.NewRequest(secret, webhook.Event{Payload: []byte(text)})
	if answer := answerOf(handler, request); answer.Code != http.StatusOK || payload != text {
		t.Errorf("%d, %s", answer.Code, payload)
	}
}

func TestTheContextEndsAtTheDeadlineAndWithTheCaller(t *testing.T) {
	untilEnd := func(ctx context.Context, _ *webhook.Event) (*webhook.Again, error) {
		<-ctx.Done()
		return nil, nil
	}
	hasty := newHandler(t, webhook.Options{Handle: untilEnd, Timeout: time.Millisecond})
	if answer := answerOf(hasty, punctualtest.NewRequest(secret, webhook.Event{})); answer.Code != http.StatusOK {
		t.Error(answer.Code)
	}
	gone, leave := context.WithCancel(context.Background())
	patient := newHandler(t, webhook.Options{Handle: func(ctx context.Context, event *webhook.Event) (*webhook.Again, error) {
		leave()
		if ctx.Err() != context.Canceled {
			t.Errorf("the context goes on: %v", ctx.Err())
		}
		return nil, nil
	}})
	request := punctualtest.NewRequest(secret, webhook.Event{}).WithContext(gone)
	if answer := answerOf(patient, request); answer.Code != http.StatusOK {
		t.Error(answer.Code)
	}
}

func TestOptionsOfAHandlerAreChecked(t *testing.T) {
	for want, options := range map[string]webhook.Options{
		"at least one secret":     {Handle: deliver},
		"24 to 64 bytes":          {Handle: deliver, Secrets: []string{"whsec_short"}},
		"or AllowUnsigned":        {Handle: deliver, Secrets: []string{secret}, AllowUnsigned: true},
		"one of Handle and On":    {Secrets: []string{secret}},
		"Fallback is for On":      {Secrets: []string{secret}, Handle: deliver, Fallback: deliver},
		"must not be negative":    {Secrets: []string{secret}, Handle: deliver, Timeout: -1},
		"exactly one of Handle a": {Secrets: []string{secret}, Handle: deliver, On: map[string]webhook.Func{"a": deliver}},
	} {
		if _, err := webhook.NewHandler(options); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))
	if _, err := webhook.NewHandler(webhook.Options{AllowUnsigned: true, Handle: deliver, Logger: logger}); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "without a signature") {
		t.Errorf("the log is %s", log.String())
	}
}

func TestTheHandlerServesRealRequests(t *testing.T) {
	var ids []string
	server := httptest.NewServer(newHandler(t, webhook.Options{
		MaxBodyBytes: 1000,
		Handle: func(_ context.Context, event *webhook.Event) (*webhook.Again, error) {
			ids = append(ids, event.TimerID+fmt.Sprint(event.Tags))
			return nil, nil
		},
	}))
	defer server.Close()
	send := func(request *http.Request) int {
		t.Helper()
		real, err := http.NewRequest(request.Method, server.URL, request.Body)
		if err != nil {
			t.Fatal(err)
		}
		real.Header = request.Header
		answer, err := http.DefaultClient.Do(real)
		if err != nil {
			t.Fatal(err)
		}
		defer answer.Body.Close()
		_, _ = io.Copy(io.Discard, answer.Body)
		return answer.StatusCode
	}
	tags := []string{"a,b", "c d", "+"}
	large := []byte(`"` + strings.Repeat("x", 2000) + `"`)
	for want, request := range map[int]*http.Request{
		200: punctualtest.NewRequest(secret, webhook.Event{TimerID: "ä/1", Tags: tags}),
		401: punctualtest.NewRequest("", webhook.Event{TimerID: "unsigned"}),
		413: punctualtest.NewRequest(secret, webhook.Event{Payload: large}),
	} {
		if got := send(request); got != want {
			t.Errorf("the status is %d, want %d", got, want)
		}
	}
	if fmt.Sprint(ids) != "[ä/1[a,b c d +]]" {
		t.Errorf("handled: %v", ids)
	}
}

func TestABodyThatIsGoneOrBrokenIsAnswered(t *testing.T) {
	var log bytes.Buffer
	handler := newHandler(t, webhook.Options{Handle: deliver, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	read := punctualtest.NewRequest(secret, webhook.Event{})
	_, _ = io.Copy(io.Discard, read.Body)
	if answer := answerOf(handler, read); answer.Code != http.StatusInternalServerError || !strings.Contains(log.String(), "read the body before") {
		t.Errorf("%d, %s", answer.Code, log.String())
	}
	broken := punctualtest.NewRequest(secret, webhook.Event{})
	broken.Body = io.NopCloser(io.MultiReader(strings.NewReader("{"), errorReader{}))
	if answer := answerOf(handler, broken); answer.Code != http.StatusBadRequest {
		t.Error(answer.Code)
	}
}

type errorReader struct{}

func (errorReader) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhatAFunctionReturnsCanBeWrapped(t *testing.T) {
	for want, result := range map[string]error{
		`200 {"ok":false,"nextDelay":"5m"}`: fmt.Errorf("the mail server: %w", webhook.Retry(5*time.Minute)),
		`422 {"reason":"no customer"}`:      fmt.Errorf("customer 7: %w", webhook.Dead("no customer")),
		"500 the handler failed\n":          errors.Join(webhook.Retry(-time.Second)),
	} {
		handler := newHandler(t, webhook.Options{
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Handle: func(context.Context, *webhook.Event) (*webhook.Again, error) { return nil, result },
		})
		answer := answerOf(handler, punctualtest.NewRequest(secret, webhook.Event{}))
		if got := fmt.Sprintf("%d %s", answer.Code, answer.Body); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAnAgainAlwaysHasANextTime(t *testing.T) {
	for want, again := range map[string]webhook.Again{
		`200 {"ok":true,"nextDelay":"1s"}`:                                        {},
		`200 {"ok":true,"nextExecuteAt":"2030-01-01T00:00:00.000Z","payload":{}}`: {ExecuteAt: receivedAt, Payload: struct{}{}},
		"500 the handler failed\n":                                                {ExecuteAt: receivedAt, Delay: time.Second},
	} {
		handler := newHandler(t, webhook.Options{
			Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
			Handle: func(context.Context, *webhook.Event) (*webhook.Again, error) { return &again, nil },
		})
		answer := answerOf(handler, punctualtest.NewRequest(secret, webhook.Event{}))
		if got := fmt.Sprintf("%d %s", answer.Code, answer.Body); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

func TestAFailureOfTheMemoryIsAFailedAttempt(t *testing.T) {
	handler := newHandler(t, webhook.Options{
		Handle: deliver, Memory: brokenMemory{}, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	if answer := answerOf(handler, punctualtest.NewRequest(secret, webhook.Event{})); answer.Code != http.StatusInternalServerError {
		t.Error(answer.Code)
	}
}

type brokenMemory struct{}

func (brokenMemory) Done(context.Context, string) (string, bool, error) { return "", false, nil }

func (brokenMemory) MarkDone(context.Context, string, string) error {
	return errors.New("the database is away")
}

// contextMemory keeps how the context of MarkDone is.
type contextMemory struct {
	brokenMemory
	err         error
	hasDeadline bool
}

func (m *contextMemory) MarkDone(ctx context.Context, _, _ string) error {
	m.err = ctx.Err()
	_, m.hasDeadline = ctx.Deadline()
	return m.err
}

func TestWorkIsMarkedDoneAlsoIfTheCallerIsGone(t *testing.T) {
	gone, leave := context.WithCancel(context.Background())
	memory := &contextMemory{}
	handler := newHandler(t, webhook.Options{Memory: memory, Handle: func(context.Context, *webhook.Event) (*webhook.Again, error) {
		leave()
		return nil, nil
	}})
	answer := answerOf(handler, punctualtest.NewRequest(secret, webhook.Event{}).WithContext(gone))
	if answer.Code != http.StatusOK || memory.err != nil || !memory.hasDeadline {
		t.Errorf("%d, %+v", answer.Code, memory)
	}
}

func TestTheHandlerKeepsItsOwnOptions(t *testing.T) {
	functions, secrets := map[string]webhook.Func{"a": deliver}, []string{secret}
	handler, err := webhook.NewHandler(webhook.Options{Secrets: secrets, On: functions})
	if err != nil {
		t.Fatal(err)
	}
	delete(functions, "a")
	secrets[0] = ""
	if answer := answerOf(handler, punctualtest.NewRequest(secret, webhook.Event{Tags: []string{"a"}})); answer.Code != http.StatusOK {
		t.Errorf("%d %s", answer.Code, answer.Body)
	}
}

func TestACallOfOnDeadIsAnEvent(t *testing.T) {
	var reason string
	handler := newHandler(t, webhook.Options{Handle: func(_ context.Context, event *webhook.Event) (*webhook.Again, error) {
		reason = event.Type + " " + event.TimerID + " " + string(event.Reason)
		return nil, nil
	}})
	event := webhook.Event{Type: webhook.TypeDead, TimerID: "a", Reason: "expired"}
	answer := answerOf(handler, punctualtest.NewRequest(secret, event))
	if answer.Code != http.StatusOK || reason != "timer.dead a expired" {
		t.Errorf("%d, %s", answer.Code, reason)
	}
}
