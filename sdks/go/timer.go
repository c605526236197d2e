package punctual

import (
	"encoding/json"
	"errors"
	"time"

	"punctual.dev/client/internal/wire"
)

// State is what a timer does now, or how it ended.
type State string

// The states. In lists, StatePending includes timers in flight, and there is no StateInFlight.
const (
	StatePending   State = "pending"
	StateInFlight  State = "inFlight"
	StateDelivered State = "delivered"
	StateCancelled State = "cancelled"
	StateDead      State = "dead"
)

// TargetType says how a timer is delivered.
type TargetType string

// TargetWebhook calls a URL. TargetEvent puts an event on the message bus. TargetHandler, only in answers, calls a function of a
// program that contains the engine.
const (
	TargetWebhook TargetType = "webhook"
	TargetEvent   TargetType = "event"
	TargetHandler TargetType = "handler"
)

// BodyForm says what the body of a webhook is.
type BodyForm string

// BodyEnvelope has the timer and its payload. BodyPayload is the payload alone, for endpoints that you cannot change.
const (
	BodyEnvelope BodyForm = "envelope"
	BodyPayload  BodyForm = "payload"
)

// Target is where a timer is delivered. In a request only Type, and URL for a webhook, must be given.
type Target struct {
	Type TargetType `json:"type"`
	URL  string     `json:"url,omitzero"`
	// Method is POST (if left out), PUT, PATCH, GET or DELETE.
	Method  string            `json:"method,omitzero"`
	Headers map[string]string `json:"headers,omitzero"`
	// Timeout is how long the receiver may take to answer; 15 s if left out.
	Timeout time.Duration `json:"timeout,omitzero"`
	Body    BodyForm      `json:"body,omitzero"`
}

// UnmarshalJSON reads the target as the service writes it.
func (t *Target) UnmarshalJSON(data []byte) error { return wire.Decode(data, t) }

// MarshalJSON writes the target as the service does.
func (t Target) MarshalJSON() ([]byte, error) { return wire.Encode(t) }

// RetryPolicy says when to try again after a failed attempt. Give Waits, or the other fields.
type RetryPolicy struct {
	MaxAttempts       int           `json:"maxAttempts,omitzero"`
	InitialInterval   time.Duration `json:"initialInterval,omitzero"`
	BackoffMultiplier float64       `json:"backoffMultiplier,omitzero"`
	MaxInterval       time.Duration `json:"maxInterval,omitzero"`
	// Jitter is the part of each wait that is random, from 0 to 1; 0.2 if left out.
	Jitter *float64 `json:"jitter,omitzero"`
	// MaxDuration: no attempt starts later than this after the first one.
	MaxDuration time.Duration `json:"maxDuration,omitzero"`
	// Waits are the exact waits between attempts. With an empty list there is one attempt.
	Waits []time.Duration `json:"waits,omitzero"`
}

// UnmarshalJSON reads the policy as the service writes it.
func (p *RetryPolicy) UnmarshalJSON(data []byte) error { return wire.Decode(data, p) }

// MarshalJSON writes the policy as the service does.
func (p RetryPolicy) MarshalJSON() ([]byte, error) { return wire.Encode(p) }

// Attempt is one attempt to deliver a timer.
type Attempt struct {
	At     time.Time `json:"at"`
	Status int       `json:"status,omitzero"`
	Error  string    `json:"error,omitzero"`
	// Answer has the first bytes of the receiver's answer to a failed attempt.
	Answer   string        `json:"answer,omitzero"`
	Duration time.Duration `json:"durationMs"`
}

// UnmarshalJSON reads the attempt as the service writes it.
func (a *Attempt) UnmarshalJSON(data []byte) error { return wire.Decode(data, a) }

// MarshalJSON writes the attempt as the service does.
func (a Attempt) MarshalJSON() ([]byte, error) { return wire.Encode(a) }

// WaitingReason says why a due timer has not started. A newer service may have more reasons.
type WaitingReason string

// The reasons to wait.
const (
	WaitingPaused        WaitingReason = "paused"
	WaitingServicePaused WaitingReason = "servicePaused"
	WaitingBreaker       WaitingReason = "breaker"
	WaitingCongested     WaitingReason = "congested"
	WaitingEgressRefused WaitingReason = "egressRefused"
	WaitingNoSubscriber  WaitingReason = "noSubscriber"
	WaitingSealed        WaitingReason = "sealed"
)

// Waiting says why a due timer has not started.
type Waiting struct {
	Reason WaitingReason `json:"reason"`
	Since  time.Time     `json:"since"`
	Detail string        `json:"detail"`
}

// FinishReason says why a timer is dead, or was cancelled without a call. A newer service may have more reasons.
type FinishReason string

// The reasons to finish.
const (
	ReasonAttemptsExhausted FinishReason = "attemptsExhausted"
	ReasonDurationExhausted FinishReason = "durationExhausted"
	ReasonExpired           FinishReason = "expired"
	ReasonRefused           FinishReason = "refused"
	ReasonEgressRefused     FinishReason = "egressRefused"
	ReasonInvalidTarget     FinishReason = "invalidTarget"
	ReasonNotDead           FinishReason = "notDead"
)

// OnExpire says what happens to a timer whose first attempt did not start in time.
type OnExpire string

// ExpireDead makes it a dead letter; this is the default. ExpireDrop removes it.
const (
	ExpireDead OnExpire = "dead"
	ExpireDrop OnExpire = "drop"
)

// Timer is a timer, pending or finished.
type Timer struct {
	Namespace string `json:"namespace"`
	TimerID   string `json:"timerId"`
	State     State  `json:"state"`
	// Revision grows each time a timer with this id is armed. Send it as IfRevision.
	Revision int64 `json:"revision"`
	// FireID is new each time the timer is armed, and the same on all attempts.
	FireID    string    `json:"fireId"`
	ExecuteAt time.Time `json:"executeAt"`
	// FireAt is when the next attempt is due.
	FireAt           time.Time `json:"fireAt,omitzero"`
	Waiting          *Waiting  `json:"waiting,omitzero"`
	AttemptStartedAt time.Time `json:"attemptStartedAt,omitzero"`
	Attempts         int       `json:"attempts"`
	LastAttempt      *Attempt  `json:"lastAttempt,omitzero"`
	AttemptLog       []Attempt `json:"attemptLog,omitzero"`
	Target           Target    `json:"target"`
	// Payload has the exact text. It is absent once the timer was delivered or cancelled. See DecodePayload.
	Payload       json.RawMessage `json:"payload,omitzero"`
	RetryPolicy   RetryPolicy     `json:"retryPolicy"`
	ExpireAfter   time.Duration   `json:"expireAfter,omitzero"`
	OnExpire      OnExpire        `json:"onExpire,omitzero"`
	OnDead        *Target         `json:"onDead,omitzero"`
	CorrelationID string          `json:"correlationId"`
	Tags          []string        `json:"tags,omitzero"`
	Traceparent   string          `json:"traceparent,omitzero"`
	CreatedAt     time.Time       `json:"createdAt"`
	UpdatedAt     time.Time       `json:"updatedAt"`
	FinishedAt    time.Time       `json:"finishedAt,omitzero"`
	// Lateness is how late the successful attempt was.
	Lateness time.Duration `json:"latenessMs,omitzero"`
	Reason   FinishReason  `json:"reason,omitzero"`
	// Extra has the fields that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the timer, and keeps the fields of newer services in Extra.
func (t *Timer) UnmarshalJSON(data []byte) error { return wire.Decode(data, t) }

// MarshalJSON writes the timer as the service does.
func (t Timer) MarshalJSON() ([]byte, error) { return wire.Encode(t) }

// DecodePayload reads the payload into a value, like json.Unmarshal. It fails if there is no payload: only pending and dead timers
// have one, and lists have it only if you ask for it.
func (t *Timer) DecodePayload(into any) error {
	if len(t.Payload) == 0 {
		return errors.New("punctual: the timer has no payload")
	}
	return json.Unmarshal(t.Payload, into)
}
