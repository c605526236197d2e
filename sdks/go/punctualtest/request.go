package punctualtest

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"time"

	"punctual.dev/client/webhook"
)

// NewRequest makes a request as Punctual sends it, for a test of your handler without a service:
//
//	answer := httptest.NewRecorder()
//	handler.ServeHTTP(answer, punctualtest.NewRequest(secret, webhook.Event{Tags: []string{"trial"}}))
//
// Fields of the event that are zero get usual values. If the secret is empty, the request is not signed. Like httptest.NewRequest, it
// panics if that cannot be: if the secret or the payload is wrong.
func NewRequest(secret string, event webhook.Event) *http.Request {
	now := time.Now()
	fill(&event, now)
	body, err := event.MarshalJSON()
	if err != nil {
		panic(err)
	}
	request := httptest.NewRequest(http.MethodPost, "/hooks", bytes.NewReader(body))
	header := request.Header
	header.Set("Content-Type", "application/json")
	header.Set("Webhook-Id", event.FireID)
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	header.Set("Punctual-Namespace", event.Namespace)
	header.Set("Punctual-Timer-Id", url.PathEscape(event.TimerID))
	header.Set("Punctual-Execute-At", event.ExecuteAt.UTC().Format("2006-01-02T15:04:05.000Z"))
	header.Set("Punctual-Attempt", strconv.Itoa(event.Attempt))
	header.Set("Punctual-Epoch", strconv.FormatInt(event.Epoch, 10))
	if event.Type == webhook.TypeDead {
		// The call of OnDead is a timer of its own.
		header.Set("Punctual-Timer-Id", "_dead."+event.FireID)
	}
	if len(event.Tags) > 0 {
		tags := make([]string, len(event.Tags))
		for i, tag := range event.Tags {
			tags[i] = url.QueryEscape(tag)
		}
		header.Set("Punctual-Tags", strings.ReplaceAll(strings.Join(tags, ","), "+", "%20"))
	}
	if secret != "" {
		signature, err := webhook.Sign(secret, event.FireID, now, body)
		if err != nil {
			panic(err)
		}
		header.Set("Webhook-Signature", signature)
	}
	return request
}

func fill(event *webhook.Event, now time.Time) {
	set(&event.Type, webhook.TypeFired)
	set(&event.Namespace, "test")
	set(&event.TimerID, "timer-1")
	set(&event.FireID, newFireID())
	set(&event.Attempt, 1)
	set(&event.MaxAttempts, 10)
	set(&event.Epoch, 1)
	set(&event.Revision, now.UnixMilli())
	set(&event.ExecuteAt, now)
	set(&event.FiredAt, now)
	set(&event.CorrelationID, "test")
}

func set[T comparable](field *T, usual T) {
	var zero T
	if *field == zero {
		*field = usual
	}
}

// newFireID only has to be different each time.
func newFireID() string {
	var id [16]byte
	_, _ = rand.Read(id[:]) // A test does not need good randomness.
	return hex.EncodeToString(id[:])
}
