package webhook_test

// The cases of sdks/conformance about receiving webhooks.

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	punctual "punctual.dev/client"
	"punctual.dev/client/internal/conformance"
	"punctual.dev/client/webhook"
)

const secret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="

var findings = map[string]error{
	"ok":      nil,
	"wrong":   webhook.ErrWrongSignature,
	"missing": webhook.ErrMissingSignature,
	"tooOld":  webhook.ErrTooOld,
	"tooNew":  webhook.ErrTooNew,
}

func TestSignatures(t *testing.T) {
	type signatureCase struct {
		Name        string            `json:"name"`
		Secrets     []string          `json:"secrets"`
		Headers     map[string]string `json:"headers"`
		BodyBase64  string            `json:"bodyBase64"`
		NowMs       int64             `json:"nowMs"`
		ToleranceMs int64             `json:"toleranceMs"`
		Finding     string            `json:"finding"`
	}
	for _, c := range conformance.Cases[signatureCase](t, "signatures") {
		t.Run(c.Name, func(t *testing.T) {
			body, err := base64.StdEncoding.DecodeString(c.BodyBase64)
			if err != nil {
				t.Fatal(err)
			}
			verifier := webhook.Verifier{
				Secrets:   c.Secrets,
				Tolerance: time.Duration(c.ToleranceMs) * time.Millisecond,
				Now:       func() time.Time { return time.UnixMilli(c.NowMs) },
			}
			want, isKnown := findings[c.Finding]
			if got := verifier.Verify(headerOf(c.Headers), body); !isKnown || !errors.Is(got, want) {
				t.Errorf("got %v, want %s", got, c.Finding)
			}
		})
	}
}

func headerOf(words map[string]string) http.Header {
	header := http.Header{}
	for name, value := range words {
		header.Set(name, value)
	}
	return header
}

type receiveCase struct {
	Name    string            `json:"name"`
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	Does    struct {
		Return json.RawMessage `json:"return"`
		Retry  json.RawMessage `json:"retry"`
		Dead   string          `json:"dead"`
		Throw  string          `json:"throw"`
	} `json:"does"`
	Status        int               `json:"status"`
	Answer        json.RawMessage   `json:"answer"`
	AnswerHeaders map[string]string `json:"answerHeaders"`
	AnswerLacks   string            `json:"answerLacks"`
	Handled       json.RawMessage   `json:"handled"`
	HandledBy     string            `json:"handledBy"`
	Signature     string            `json:"signature"`
	Secrets       string            `json:"secrets"`
	On            []string          `json:"on"`
	Fallback      bool              `json:"fallback"`
	Memory        *struct {
		Done json.RawMessage `json:"done"`
	} `json:"memory"`
	Marked       *bool `json:"marked"`
	MaxBodyBytes int64 `json:"maxBodyBytes"`
}

var receivedAt = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

func (c *receiveCase) request(t *testing.T) *http.Request {
	t.Helper()
	const id = "01b8d832-8600-7000-8000-03fe5c9c45b0"
	signature, err := webhook.Sign(secret, id, receivedAt, []byte(c.Body))
	if err != nil {
		t.Fatal(err)
	}
	if c.Signature == "wrong" {
		signature = "v1," + base64.StdEncoding.EncodeToString([]byte("wrong"))
	}
	request := httptest.NewRequest(http.MethodPost, "/hooks", strings.NewReader(c.Body))
	request.Header = headerOf(c.Headers)
	request.Header.Set("Webhook-Id", id)
	request.Header.Set("Webhook-Timestamp", strconv.FormatInt(receivedAt.Unix(), 10))
	request.Header.Set("Webhook-Signature", signature)
	return request
}

// act does what the case says.
func (c *receiveCase) act(t *testing.T) (*webhook.Again, error) {
	t.Helper()
	switch {
	case c.Does.Retry != nil:
		var words *string
		if err := json.Unmarshal(c.Does.Retry, &words); err != nil {
			t.Fatal(err)
		}
		if words == nil {
			return nil, webhook.Retry(0)
		}
		return nil, webhook.Retry(durationOf(t, *words))
	case c.Does.Dead != "":
		return nil, webhook.Dead(c.Does.Dead)
	case c.Does.Throw != "":
		return nil, errors.New(c.Does.Throw)
	}
	var words *struct {
		NextDelay     string
		NextExecuteAt time.Time
		Payload       json.RawMessage
	}
	if err := json.Unmarshal(conformance.Native(t, c.Does.Return), &words); err != nil {
		t.Fatal(err)
	}
	if words == nil {
		return nil, nil
	}
	again := &webhook.Again{ExecuteAt: words.NextExecuteAt}
	if words.NextDelay != "" {
		again.Delay = durationOf(t, words.NextDelay)
	}
	if words.Payload != nil {
		again.Payload = words.Payload
	}
	return again, nil
}

// rememberer is a memory that knows one delivery.
type rememberer struct {
	answer string
	isDone bool
	marked []string
}

func (m *rememberer) Done(context.Context, string) (string, bool, error) {
	return m.answer, m.isDone, nil
}

func (m *rememberer) MarkDone(_ context.Context, fireID, _ string) error {
	m.marked = append(m.marked, fireID)
	return nil
}

func TestReceive(t *testing.T) {
	for _, c := range conformance.Cases[receiveCase](t, "receive") {
		t.Run(c.Name, func(t *testing.T) { c.run(t) })
	}
}

func (c *receiveCase) run(t *testing.T) {
	var events []*webhook.Event
	var calledBy []string
	named := func(name string) webhook.Func {
		return func(_ context.Context, event *webhook.Event) (*webhook.Again, error) {
			events = append(events, event)
			calledBy = append(calledBy, name)
			return c.act(t)
		}
	}
	options := webhook.Options{
		Secrets:      []string{secret},
		MaxBodyBytes: c.MaxBodyBytes,
		Now:          func() time.Time { return receivedAt },
		Logger:       slog.New(slog.NewTextHandler(&strings.Builder{}, nil)),
	}
	if c.Secrets == "none" {
		options.Secrets, options.AllowUnsigned = nil, true
	}
	if c.On == nil {
		options.Handle = named("handle")
	} else {
		options.On = map[string]webhook.Func{}
		for _, tag := range c.On {
			options.On[tag] = named(tag)
		}
	}
	if c.Fallback {
		options.Fallback = named("fallback")
	}
	memory := &rememberer{}
	if c.Memory != nil {
		options.Memory = memory
		memory.isDone = c.Memory.Done != nil
		_ = json.Unmarshal(c.Memory.Done, &memory.answer) // true is no text.
	}
	handler, err := webhook.NewHandler(options)
	if err != nil {
		t.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, c.request(t))
	c.check(t, answer, events, calledBy, memory)
}

func (c *receiveCase) check(
	t *testing.T, answer *httptest.ResponseRecorder, events []*webhook.Event, calledBy []string, memory *rememberer,
) {
	t.Helper()
	text := answer.Body.String()
	if answer.Code != c.Status {
		t.Errorf("the status is %d, want %d: %s", answer.Code, c.Status, text)
	}
	if c.Answer != nil {
		conformance.SameJSON(t, []byte(text), c.Answer)
	}
	if c.AnswerLacks != "" && strings.Contains(text, c.AnswerLacks) {
		t.Errorf("the answer has %s", text)
	}
	for name, value := range c.AnswerHeaders {
		if got := answer.Header().Get(name); got != value {
			t.Errorf("the header %s is %q", name, got)
		}
	}
	wantsNone := string(c.Handled) == "false"
	if wantsNone != (len(events) == 0) {
		t.Fatalf("the function was called %d times", len(events))
	}
	if !wantsNone && c.Handled != nil {
		checkHandled(t, events[0], c.Handled)
	}
	if c.HandledBy != "" && !slices.Equal(calledBy, []string{c.HandledBy}) {
		t.Errorf("called by %v", calledBy)
	}
	if c.Marked != nil && *c.Marked != (len(memory.marked) == 1) {
		t.Errorf("marked: %v", memory.marked)
	}
}

// checkHandled compares the members that the case lists. Only a zero field is absent in the text of an event.
func checkHandled(t *testing.T, event *webhook.Event, want json.RawMessage) {
	t.Helper()
	text, err := event.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	var got, wanted map[string]json.RawMessage
	if json.Unmarshal(text, &got) != nil || json.Unmarshal(want, &wanted) != nil {
		t.Fatalf("%s, %s", text, want)
	}
	for name, member := range wanted {
		found, isThere := got[name]
		if !isThere {
			found = json.RawMessage("0")
		}
		conformance.SameJSON(t, found, member)
	}
}

func durationOf(t *testing.T, words string) time.Duration {
	t.Helper()
	duration, err := punctual.ParseDuration(words)
	if err != nil {
		t.Fatal(err)
	}
	return duration
}
