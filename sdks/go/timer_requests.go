package punctual

import (
	"time"

	"punctual.dev/client/internal/wire"
)

// OnExisting says what a create does if a timer with this id is pending.
type OnExisting string

// ExistingReplace is the default. With ExistingFail a create is not repeated after a time-out.
const (
	ExistingReplace OnExisting = "replace"
	ExistingKeep    OnExisting = "keep"
	ExistingFail    OnExisting = "fail"
)

// CreateTimer is a timer to create. Give one of ExecuteAt and Delay, and one of CallbackURL and Target.
type CreateTimer struct {
	// Namespace is that of the client if empty.
	Namespace string `json:"namespace"`
	// TimerID is your id of the timer. With AutoID the client makes one.
	TimerID   string    `json:"timerId"`
	ExecuteAt time.Time `json:"executeAt,omitzero"`
	// Delay is sent as ExecuteAt, so that a repeat does not move the timer.
	Delay time.Duration `json:"delay,omitzero"`
	// CallbackURL is short for a webhook with the defaults.
	CallbackURL string  `json:"callbackUrl,omitzero"`
	Target      *Target `json:"target,omitzero"`
	// Payload is any JSON. A json.RawMessage is sent byte for byte.
	Payload     any          `json:"payload,omitzero"`
	RetryPolicy *RetryPolicy `json:"retryPolicy,omitzero"`
	// ExpireAfter: if the first attempt has not started this long after ExecuteAt, the timer expires.
	ExpireAfter time.Duration `json:"expireAfter,omitzero"`
	OnExpire    OnExpire      `json:"onExpire,omitzero"`
	// OnDead is who is called when the timer is dead.
	OnDead        *Target  `json:"onDead,omitzero"`
	CorrelationID string   `json:"correlationId,omitzero"`
	Tags          []string `json:"tags,omitzero"`
	// Traceparent is the trace (W3C Trace Context) that the webhook continues.
	Traceparent string     `json:"traceparent,omitzero"`
	OnExisting  OnExisting `json:"onExisting,omitzero"`
}

// GetTimer is the key of one timer.
type GetTimer struct {
	Namespace string `json:"namespace"`
	TimerID   string `json:"timerId"`
}

// UpdateTimer has the fields of a timer to change. A field that is zero stays as it is.
type UpdateTimer struct {
	Namespace     string        `json:"namespace"`
	TimerID       string        `json:"timerId"`
	ExecuteAt     time.Time     `json:"executeAt,omitzero"`
	Delay         time.Duration `json:"delay,omitzero"`
	CallbackURL   string        `json:"callbackUrl,omitzero"`
	Target        *Target       `json:"target,omitzero"`
	Payload       any           `json:"payload,omitzero"`
	RetryPolicy   *RetryPolicy  `json:"retryPolicy,omitzero"`
	ExpireAfter   time.Duration `json:"expireAfter,omitzero"`
	OnExpire      OnExpire      `json:"onExpire,omitzero"`
	OnDead        *Target       `json:"onDead,omitzero"`
	CorrelationID string        `json:"correlationId,omitzero"`
	Tags          []string      `json:"tags,omitzero"`
	// IfRevision: change the timer only if it still has this revision. Then the client repeats the call after a time-out.
	IfRevision int64 `json:"ifRevision,omitzero"`
	// Clear names the fields to remove: payload, retryPolicy, expireAfter, onDead, tags.
	Clear []string `json:"-"`
}

// CancelTimer is the timer to cancel.
type CancelTimer struct {
	Namespace string `json:"namespace"`
	TimerID   string `json:"timerId"`
	// IfRevision: cancel the timer only if it still has this revision.
	IfRevision int64 `json:"ifRevision,omitzero"`
}

// AttemptError says how an attempt failed.
type AttemptError string

// The kinds of failed attempts.
const (
	AttemptErrorTimeout AttemptError = "timeout"
	AttemptErrorNetwork AttemptError = "network"
	AttemptError4xx     AttemptError = "4xx"
	AttemptError5xx     AttemptError = "5xx"
)

// TimerFilter selects timers. All fields that are given must match.
type TimerFilter struct {
	// From is inclusive: by due time if pending, by finish time if finished.
	From time.Time `json:"from,omitzero"`
	// Until is exclusive.
	Until         time.Time `json:"until,omitzero"`
	IDPrefix      string    `json:"idPrefix,omitzero"`
	CorrelationID string    `json:"correlationId,omitzero"`
	Tag           string    `json:"tag,omitzero"`
	// Host of webhooks: example.com, or example.com:8443.
	Host   string       `json:"host,omitzero"`
	Reason FinishReason `json:"reason,omitzero"`
	// Error is how the last attempt failed.
	Error AttemptError `json:"error,omitzero"`
	// MinLateness: deliveries that were at least this late, and timers that are overdue by at least this.
	MinLateness time.Duration `json:"minLateness,omitzero"`
}

// MarshalJSON writes the filter in the words of the service.
func (f TimerFilter) MarshalJSON() ([]byte, error) { return wire.Encode(f) }

// CountTimers says which timers to count. The fields after States are those of TimerFilter.
type CountTimers struct {
	// Namespace is that of the client if it and Namespaces are empty.
	Namespace string `json:"namespace,omitzero"`
	// Namespaces are up to 20 names or prefixes such as team-*, or just *.
	Namespaces []string `json:"namespaces,omitzero"`
	// State is StatePending if it and States are left out.
	State         State         `json:"state,omitzero"`
	States        []State       `json:"states,omitzero"`
	From          time.Time     `json:"from,omitzero"`
	Until         time.Time     `json:"until,omitzero"`
	IDPrefix      string        `json:"idPrefix,omitzero"`
	CorrelationID string        `json:"correlationId,omitzero"`
	Tag           string        `json:"tag,omitzero"`
	Host          string        `json:"host,omitzero"`
	Reason        FinishReason  `json:"reason,omitzero"`
	Error         AttemptError  `json:"error,omitzero"`
	MinLateness   time.Duration `json:"minLateness,omitzero"`
}

// MarshalJSON writes the request in the words of the service.
func (c CountTimers) MarshalJSON() ([]byte, error) { return wire.Encode(c) }

// Order is the order of a list.
type Order string

// The orders of a list, by time.
const (
	OrderAscending  Order = "asc"
	OrderDescending Order = "desc"
)

// IncludePayload in the field Include of a list lets each timer have its payload.
const IncludePayload = "payload"

// ListTimers says which timers to list, and how. The fields from From to MinLateness are those of TimerFilter.
type ListTimers struct {
	// Namespace is that of the client if it and Namespaces are empty.
	Namespace string `json:"namespace,omitzero"`
	// Namespaces are up to 20 names or prefixes such as team-*, or just *.
	Namespaces []string `json:"namespaces,omitzero"`
	// State is StatePending if it and States are left out.
	State         State         `json:"state,omitzero"`
	States        []State       `json:"states,omitzero"`
	From          time.Time     `json:"from,omitzero"`
	Until         time.Time     `json:"until,omitzero"`
	IDPrefix      string        `json:"idPrefix,omitzero"`
	CorrelationID string        `json:"correlationId,omitzero"`
	Tag           string        `json:"tag,omitzero"`
	Host          string        `json:"host,omitzero"`
	Reason        FinishReason  `json:"reason,omitzero"`
	Error         AttemptError  `json:"error,omitzero"`
	MinLateness   time.Duration `json:"minLateness,omitzero"`
	Order         Order         `json:"order,omitzero"`
	// Include can have IncludePayload.
	Include []string `json:"include,omitzero"`
	// Cursor is where to begin: the NextCursor of an earlier page.
	Cursor string `json:"cursor,omitzero"`
	// Limit is the size of a page, at most 1,000; 100 if left out.
	Limit int `json:"limit,omitzero"`
}

// TimerHistogram says which timers to count, and in how many parts of their span.
type TimerHistogram struct {
	// Filter must have From and Until.
	Filter CountTimers `json:"filter"`
	// Buckets is from 1 to 500.
	Buckets int `json:"buckets"`
}

// ListLives asks for the lives of one timer id.
type ListLives struct {
	Namespace string `json:"namespace"`
	TimerID   string `json:"timerId"`
	Cursor    string `json:"cursor,omitzero"`
	Limit     int    `json:"limit,omitzero"`
}

// ActivityBy splits an activity into series.
type ActivityBy string

// The series of an activity.
const (
	ByNamespace ActivityBy = "namespace"
	ByHost      ActivityBy = "host"
)

// GetActivity asks what happened over time.
type GetActivity struct {
	// Namespaces are names, prefixes such as team-*, or just *. The namespace of the client if empty.
	Namespaces []string  `json:"namespaces,omitzero"`
	From       time.Time `json:"from"`
	Until      time.Time `json:"until"`
	// Step is whole minutes or whole hours.
	Step time.Duration `json:"step"`
	By   ActivityBy    `json:"by,omitzero"`
}

// CancelManyTimers says which pending timers to cancel: Filter, or All.
type CancelManyTimers struct {
	Namespace string       `json:"namespace"`
	Filter    *TimerFilter `json:"filter,omitzero"`
	All       bool         `json:"all,omitzero"`
	Cursor    string       `json:"cursor,omitzero"`
}

// ReplayTimers says which dead letters to replay: one of TimerID, Filter and All.
type ReplayTimers struct {
	Namespace string       `json:"namespace"`
	TimerID   string       `json:"timerId,omitzero"`
	Filter    *TimerFilter `json:"filter,omitzero"`
	All       bool         `json:"all,omitzero"`
	// DryRun only counts, and changes nothing.
	DryRun bool   `json:"dryRun,omitzero"`
	Cursor string `json:"cursor,omitzero"`
}

// DiscardTimers says which dead letters to remove: one of TimerID, Filter and All.
type DiscardTimers struct {
	Namespace string       `json:"namespace"`
	TimerID   string       `json:"timerId,omitzero"`
	Filter    *TimerFilter `json:"filter,omitzero"`
	All       bool         `json:"all,omitzero"`
	// DryRun only counts, and changes nothing.
	DryRun bool   `json:"dryRun,omitzero"`
	Cursor string `json:"cursor,omitzero"`
	// Reason says why, in the audit log.
	Reason string `json:"reason,omitzero"`
}
