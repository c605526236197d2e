package webhook

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	punctual "punctual.dev/client"
	"punctual.dev/client/internal/wire"
)

// The types of events.
const (
	// TypeFired is a timer that fires.
	TypeFired = "timer.fired"
	// TypeDead is a timer that has died, for an OnDead target.
	TypeDead = "timer.dead"
)

// Event is a timer that fires, or that has died. A target with [punctual.BodyPayload] sends the payload alone: then the event comes
// from the headers, and MaxAttempts, Revision, FiredAt and CorrelationID are zero.
type Event struct {
	Type      string `json:"type"`
	Namespace string `json:"namespace"`
	TimerID   string `json:"timerId"`
	// FireID is the same on every attempt.
	FireID string `json:"fireId"`
	// Attempt is 1 for the first attempt.
	Attempt       int       `json:"attempt"`
	MaxAttempts   int       `json:"maxAttempts,omitzero"`
	Epoch         int64     `json:"epoch"`
	Revision      int64     `json:"revision,omitzero"`
	ExecuteAt     time.Time `json:"executeAt,omitzero"`
	FiredAt       time.Time `json:"firedAt,omitzero"`
	CorrelationID string    `json:"correlationId,omitzero"`
	Tags          []string  `json:"tags,omitzero"`
	// Payload has the exact text. It is empty if the timer has none. See DecodePayload.
	Payload json.RawMessage `json:"payload,omitzero"`
	// Reason, Attempts and LastAttempt say why and how a timer has died.
	Reason      punctual.FinishReason `json:"reason,omitzero"`
	Attempts    int                   `json:"attempts,omitzero"`
	LastAttempt *punctual.Attempt     `json:"lastAttempt,omitzero"`
	// Header of the request.
	Header http.Header `json:"-"`
	// Extra has the fields that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the event as the service writes it.
func (e *Event) UnmarshalJSON(data []byte) error { return wire.Decode(data, e) }

// MarshalJSON writes the event as the service does.
func (e Event) MarshalJSON() ([]byte, error) { return wire.Encode(e) }

// DecodePayload reads the payload into a value, like json.Unmarshal. It fails if there is no payload.
func (e *Event) DecodePayload(into any) error {
	if len(e.Payload) == 0 {
		return errors.New("webhook: the timer has no payload")
	}
	return json.Unmarshal(e.Payload, into)
}

// Parse reads the event of a request whose signature is checked. A [Handler] does that by itself.
func Parse(header http.Header, body []byte) (*Event, error) {
	event, err := eventOfHeader(header)
	if err != nil {
		return nil, err
	}
	if len(body) == 0 {
		return event, nil
	}
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, errors.New("webhook: the body is not JSON")
	}
	if !isEnvelope(header, body) {
		event.Payload = body
		return event, nil
	}
	if err := json.Unmarshal(body, event); err != nil {
		return nil, err
	}
	return event, nil
}

// isEnvelope says whether the body names the same fireId as the header. Anything else is a payload that only looks like one.
func isEnvelope(header http.Header, body []byte) bool {
	var head struct {
		Type   string `json:"type"`
		FireID string `json:"fireId"`
	}
	if json.Unmarshal(body, &head) != nil || head.Type == "" || head.FireID == "" {
		return false
	}
	if head.Type == TypeDead {
		return header.Get("Punctual-Timer-Id") == "_dead."+head.FireID
	}
	return header.Get("Webhook-Id") == head.FireID
}

func eventOfHeader(header http.Header) (*Event, error) {
	timerID, err := url.PathUnescape(header.Get("Punctual-Timer-Id"))
	if err != nil {
		return nil, err
	}
	event := &Event{
		Type:      TypeFired,
		Namespace: header.Get("Punctual-Namespace"),
		TimerID:   timerID,
		FireID:    header.Get("Webhook-Id"),
		Attempt:   1,
		Header:    header,
	}
	for _, text := range strings.Split(header.Get("Punctual-Tags"), ",") {
		tag, err := url.PathUnescape(text)
		if err != nil {
			return nil, err
		}
		if tag != "" {
			event.Tags = append(event.Tags, tag)
		}
	}
	if text := header.Get("Punctual-Attempt"); text != "" {
		if event.Attempt, err = strconv.Atoi(text); err != nil {
			return nil, err
		}
	}
	if text := header.Get("Punctual-Epoch"); text != "" {
		if event.Epoch, err = strconv.ParseInt(text, 10, 64); err != nil {
			return nil, err
		}
	}
	if text := header.Get("Punctual-Execute-At"); text != "" {
		if event.ExecuteAt, err = time.Parse(time.RFC3339, text); err != nil {
			return nil, err
		}
	}
	return event, nil
}
