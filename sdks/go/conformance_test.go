package punctual

// The cases that every library of Punctual passes: sdks/conformance/README.md. Those about receiving are in package webhook.

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"punctual.dev/client/internal/conformance"
	"punctual.dev/client/internal/wire"
)

func TestEveryFileOfCasesIsRun(t *testing.T) {
	here := []string{"answers", "durations", "paging", "problems", "repeats", "requests"}
	inPackageWebhook := []string{"receive", "signatures"}
	want := append(here, inPackageWebhook...)
	slices.Sort(want)
	if got := conformance.Names(t); !slices.Equal(got, want) {
		t.Errorf("the files are %v, and these are run: %v", got, want)
	}
}

type clientWords struct {
	Namespace string    `json:"namespace"`
	DelayFrom DelayFrom `json:"delayFrom"`
}

func (w clientWords) options() Options {
	return Options{Namespace: w.Namespace, DelayFrom: w.DelayFrom}
}

func TestRequests(t *testing.T) {
	type requestCase struct {
		Name                  string          `json:"name"`
		Client                clientWords     `json:"client"`
		Call                  string          `json:"call"`
		Request               json.RawMessage `json:"request"`
		DateOfAnEarlierAnswer string          `json:"dateOfAnEarlierAnswer"`
		Refuses               string          `json:"refuses"`
		Sends                 *struct {
			Path         string          `json:"path"`
			Body         json.RawMessage `json:"body"`
			BodyContains []string        `json:"bodyContains"`
		} `json:"sends"`
	}
	for _, c := range conformance.Cases[requestCase](t, "requests") {
		t.Run(c.Name, func(t *testing.T) {
			tries := []scriptedTry{{}}
			if c.DateOfAnEarlierAnswer != "" {
				tries = append([]scriptedTry{{Headers: map[string]string{"date": c.DateOfAnEarlierAnswer}}}, tries...)
			}
			script := newScripted(t, tries, c.Client.options())
			if c.DateOfAnEarlierAnswer != "" {
				if _, err := script.client.Do(context.Background(), "service.get", struct{}{}); err != nil {
					t.Fatal(err)
				}
				script.sent = script.sent[1:]
				script.tries = script.tries[1:]
			}
			_, err := script.call(context.Background(), t, c.Call, c.Request)
			if c.Sends == nil {
				want := errorWords{Code: Ptr(CodeInvalidRequest), Written: Ptr(WrittenNo), Status: Ptr(0), Family: Ptr(ErrInvalidRequest)}
				failure := want.compare(t, err)
				if len(script.sent) > 0 || !strings.Contains(failure.Message, c.Refuses) {
					t.Errorf("the client sent %d requests, and said: %v", len(script.sent), err)
				}
				return
			}
			if len(script.sent) != 1 {
				t.Fatalf("the client sent %d requests: %v", len(script.sent), err)
			}
			sent := script.sent[0]
			if sent.path != c.Sends.Path || sent.header.Get("Content-Type") != "application/json" {
				t.Errorf("sent to %s with %v", sent.path, sent.header)
			}
			sameBody(t, sent.body, c.Sends.Body)
			for _, text := range c.Sends.BodyContains {
				if !bytes.Contains(sent.body, []byte(text)) {
					t.Errorf("%s does not contain %s", sent.body, text)
				}
			}
		})
	}
}

var uuidV7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

// sameBody compares a body with that of a case. All instants of this library are a time.Time, so it sends those that a case gives
// as text in UTC with milliseconds, too.
func sameBody(t testing.TB, got, want json.RawMessage) {
	t.Helper()
	var gotMembers, wantMembers map[string]json.RawMessage
	if json.Unmarshal(want, &wantMembers) != nil || json.Unmarshal(got, &gotMembers) != nil {
		var gotItems, wantItems []json.RawMessage
		if json.Unmarshal(want, &wantItems) == nil && json.Unmarshal(got, &gotItems) == nil && len(gotItems) == len(wantItems) {
			for i := range wantItems {
				sameBody(t, gotItems[i], wantItems[i])
			}
			return
		}
		conformance.SameJSON(t, got, inUTC(want))
		return
	}
	for name, member := range wantMembers {
		var special map[string]any
		_ = json.Unmarshal(member, &special) // Most members are no objects.
		sent, isThere := gotMembers[name]
		delete(gotMembers, name)
		switch at, isID := special["$uuidV7"].(string); {
		case !isThere:
			t.Errorf("%s is not sent", name)
		case isID:
			var id string
			instant, err := time.Parse(time.RFC3339, at)
			if err != nil || json.Unmarshal(sent, &id) != nil || !uuidV7.MatchString(id) || timeOfID(t, id) != instant.UnixMilli() {
				t.Errorf("%s is %s, want a UUID v7 of %s", name, sent, at)
			}
		case special["$anything"] != true:
			sameBody(t, sent, member)
		}
	}
	if len(gotMembers) > 0 {
		t.Errorf("more is sent than wanted: %s", gotMembers)
	}
}

func timeOfID(t testing.TB, id string) int64 {
	t.Helper()
	var milliseconds int64
	for _, digit := range strings.ReplaceAll(id, "-", "")[:12] {
		milliseconds = milliseconds<<4 | int64(strings.IndexRune("0123456789abcdef", digit))
	}
	return milliseconds
}

func inUTC(value json.RawMessage) json.RawMessage {
	var instant time.Time
	if json.Unmarshal(value, &instant) != nil {
		return value
	}
	return json.RawMessage(`"` + wire.FormatInstant(instant) + `"`)
}

func TestAnswers(t *testing.T) {
	type answerCase struct {
		Name        string          `json:"name"`
		Call        string          `json:"call"`
		Request     json.RawMessage `json:"request"`
		Answer      string          `json:"answer"`
		RawPayloads bool            `json:"rawPayloads"` // Payloads of this library are always raw.
		Value       json.RawMessage `json:"value"`
	}
	for _, c := range conformance.Cases[answerCase](t, "answers") {
		t.Run(c.Name, func(t *testing.T) {
			script := newScripted(t, []scriptedTry{{Body: &c.Answer}}, Options{Namespace: "billing"})
			value, err := script.call(context.Background(), t, c.Call, c.Request)
			if err != nil {
				t.Fatal(err)
			}
			conformance.SameJSON(t, jsonOf(t, value), conformance.Native(t, c.Value))
			var wanted struct {
				Payload struct {
					Raw *string `json:"$raw"`
				}
			}
			if json.Unmarshal(c.Value, &wanted) == nil && wanted.Payload.Raw != nil {
				if timer := value.(*Timer); string(timer.Payload) != *wanted.Payload.Raw {
					t.Errorf("the payload is %s", timer.Payload)
				}
			}
		})
	}
}

func TestProblems(t *testing.T) {
	type problemCase struct {
		scriptedTry
		Name    string          `json:"name"`
		Call    string          `json:"call"`
		Request json.RawMessage `json:"request"`
		Error   errorWords      `json:"error"`
	}
	for _, c := range conformance.Cases[problemCase](t, "problems") {
		t.Run(c.Name, func(t *testing.T) {
			script := newScripted(t, []scriptedTry{c.scriptedTry}, Options{Namespace: "billing", MaxRetries: -1})
			_, err := script.call(context.Background(), t, c.Call, c.Request)
			failure := c.Error.compare(t, err)
			if c.Body != nil && strings.HasPrefix(*c.Body, "{") {
				conformance.SameJSON(t, jsonOf(t, failure.Problem), []byte(*c.Body))
			}
			if len(script.sent) != 1 {
				t.Errorf("the client made %d tries", len(script.sent))
			}
		})
	}
}

func TestRepeats(t *testing.T) {
	type repeatCase struct {
		Name       string          `json:"name"`
		Client     clientWords     `json:"client"`
		Call       string          `json:"call"`
		Request    json.RawMessage `json:"request"`
		MaxRetries *int            `json:"maxRetries"`
		DeadlineMs int             `json:"deadlineMs"`
		Tries      []scriptedTry   `json:"tries"`
		WaitsMs    []int64         `json:"waitsMs"`
		Outcome    json.RawMessage `json:"outcome"`
	}
	for _, c := range conformance.Cases[repeatCase](t, "repeats") {
		t.Run(c.Name, func(t *testing.T) {
			c.Client.Namespace = "billing"
			script := newScripted(t, c.Tries, c.Client.options())
			var options []CallOption
			if c.MaxRetries != nil {
				options = append(options, WithMaxRetries(*c.MaxRetries))
			}
			ctx := context.Background()
			if c.DeadlineMs > 0 {
				ctx = scriptedDeadline{ctx, startOfScript.Add(time.Duration(c.DeadlineMs) * time.Millisecond)}
			}
			_, err := script.call(ctx, t, c.Call, c.Request, options...)
			if string(c.Outcome) == `"answer"` {
				if err != nil {
					t.Error(err)
				}
			} else {
				var want errorWords
				if err := json.Unmarshal(c.Outcome, &want); err != nil {
					t.Fatal(err)
				}
				want.compare(t, err)
			}
			if len(script.sent) != len(c.Tries) {
				t.Errorf("the client made %d tries, want %d", len(script.sent), len(c.Tries))
			}
			for _, sent := range script.sent {
				if !bytes.Equal(sent.body, script.sent[0].body) {
					t.Errorf("a repeat sends %s instead of %s", sent.body, script.sent[0].body)
				}
			}
			waitsMs := []int64{}
			for _, wait := range script.waits {
				waitsMs = append(waitsMs, wait.Milliseconds())
			}
			if !slices.Equal(waitsMs, c.WaitsMs) {
				t.Errorf("the waits are %v ms, want %v", waitsMs, c.WaitsMs)
			}
		})
	}
}

type retryTable struct {
	About      string `json:"about"`
	MaxRetries int    `json:"maxRetries"`
	TimeoutMs  int64  `json:"timeoutMs"`
	Waits      struct {
		FirstWaitMs   int64   `json:"firstWaitMs"`
		Multiplier    float64 `json:"multiplier"`
		MostGrownMs   int64   `json:"mostGrownMs"`
		Jitter        float64 `json:"jitter"`
		LongestWaitMs int64   `json:"longestWaitMs"`
	} `json:"waits"`
	Failures []struct {
		Failure   string        `json:"failure"`
		Status    int           `json:"status"`
		IsProblem *bool         `json:"isProblem"`
		Written   Written       `json:"written"`
		Repeat    []repeatClass `json:"repeat"`
	} `json:"failures"`
	Operations map[string]json.RawMessage `json:"operations"`
}

// ruleOf reads a rule of the file into the form of this library.
func ruleOf(t testing.TB, text json.RawMessage) repeatRule {
	t.Helper()
	var class repeatClass
	if json.Unmarshal(text, &class) == nil {
		return repeatRule{as: class}
	}
	var words struct {
		As      repeatClass                `json:"as"`
		With    json.RawMessage            `json:"with"`
		Without map[string]json.RawMessage `json:"without"`
		Each    string                     `json:"each"`
		Like    string                     `json:"like"`
	}
	if err := json.Unmarshal(text, &words); err != nil {
		t.Fatal(err)
	}
	if words.Each != "" {
		return repeatRule{as: repeatSame, each: words.Each, like: words.Like}
	}
	rule := repeatRule{as: words.As}
	texts := func(values map[string]json.RawMessage) map[string]string {
		if values == nil {
			return nil
		}
		found := map[string]string{}
		for name, value := range values {
			found[name] = string(value)
		}
		return found
	}
	if json.Unmarshal(words.With, &rule.with) != nil {
		rule.with = nil
		var values map[string]json.RawMessage
		if err := json.Unmarshal(words.With, &values); err != nil {
			t.Fatal(err)
		}
		rule.where = texts(values)
	}
	rule.without = texts(words.Without)
	return rule
}

func TestRetryTable(t *testing.T) {
	var table retryTable
	conformance.Read(t, "retries.json", &table)
	rules := map[string]repeatRule{}
	for operation, text := range table.Operations {
		rules[operation] = ruleOf(t, text)
	}
	if !reflect.DeepEqual(rules, repeatRules) {
		t.Errorf("the rules differ:\ngot  %v\nwant %v", repeatRules, rules)
	}
	waits := table.Waits
	if firstWait.Milliseconds() != waits.FirstWaitMs || waitMultiplier != waits.Multiplier ||
		mostGrownWait.Milliseconds() != waits.MostGrownMs || waitJitter != waits.Jitter ||
		longestWait.Milliseconds() != waits.LongestWaitMs {
		t.Errorf("the waits differ from %+v", waits)
	}
	if usualMaxRetries != table.MaxRetries || usualTimeout.Milliseconds() != table.TimeoutMs {
		t.Errorf("the defaults differ from %d repeats and %d ms", table.MaxRetries, table.TimeoutMs)
	}
	for _, row := range table.Failures {
		text := ""
		if row.IsProblem == nil || *row.IsProblem {
			text = `{"code":"x","detail":"d"}`
			if row.Status == 429 || row.Status == 503 {
				text = `{"code":"x","detail":"d","written":"` + string(row.Written) + `"}`
			}
		}
		var failure *Error
		switch row.Failure {
		case "connectionRefused":
			failure = noAnswer("", &net.OpError{Op: "dial", Err: io.EOF})
		case "connectionLost":
			failure = noAnswer("", io.ErrUnexpectedEOF)
		case "timeout":
			failure = tookTooLong("", time.Second)
		default:
			failure = badAnswer("", row.Status, http.Header{}, []byte(text))
		}
		classes := []repeatClass{}
		for _, class := range []repeatClass{repeatRead, repeatSame, repeatNever} {
			if mayRepeat(failure, class) {
				classes = append(classes, class)
			}
		}
		if failure.Written != row.Written || !slices.Equal(classes, row.Repeat) {
			t.Errorf("%+v: written is %s, and these are repeated: %v", row, failure.Written, classes)
		}
	}
}
