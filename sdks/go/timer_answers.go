package punctual

import (
	"time"

	"punctual.dev/client/internal/wire"
)

// Result says what a call did.
type Result string

// The results of a create. After ResultUnchanged and ResultAlreadyFinished nothing has changed.
const (
	ResultCreated         Result = "created"
	ResultReplaced        Result = "replaced"
	ResultUnchanged       Result = "unchanged"
	ResultAlreadyFinished Result = "alreadyFinished"
)

// The results of a cancel. After ResultInFlight one attempt runs and cannot be stopped; no other follows.
const (
	ResultCancelled        Result = "cancelled"
	ResultInFlight         Result = "inFlight"
	ResultAlreadyDelivered Result = "alreadyDelivered"
	ResultAlreadyCancelled Result = "alreadyCancelled"
	ResultAlreadyDead      Result = "alreadyDead"
)

// CreateTimerAnswer is the timer, and what the create did.
type CreateTimerAnswer struct {
	Result Result `json:"result"`
	Timer  *Timer `json:"timer"`
	// Warnings are sentences for people.
	Warnings []string `json:"warnings,omitzero"`
}

// CreatedItem is what became of one timer of CreateMany. Problem is nil if the service accepted it. See Err.
type CreatedItem struct {
	Result   Result   `json:"result,omitzero"`
	TimerID  string   `json:"timerId,omitzero"`
	Revision int64    `json:"revision,omitzero"`
	FireID   string   `json:"fireId,omitzero"`
	Warnings []string `json:"warnings,omitzero"`
	Problem  *Problem `json:"problem,omitzero"`
}

// Err is nil if the service accepted the timer. Else it is an [*Error], as Create returns it for one timer.
func (i CreatedItem) Err() error {
	if i.Problem == nil {
		return nil
	}
	failure := &Error{Status: i.Problem.Status, Written: WrittenNo}
	failure.describe(i.Problem, nil)
	return failure
}

// UpdateTimerAnswer is the timer after the change.
type UpdateTimerAnswer struct {
	Timer    *Timer   `json:"timer"`
	Warnings []string `json:"warnings,omitzero"`
}

// CancelTimerAnswer is what a cancel did.
type CancelTimerAnswer struct {
	Result Result `json:"result"`
}

// CancelManyTimersAnswer says how many timers the call cancelled, and how many were in flight. One call does a limited part:
// repeat it while there is More, with NextCursor as Cursor.
type CancelManyTimersAnswer struct {
	Cancelled  int    `json:"cancelled"`
	InFlight   int    `json:"inFlight"`
	More       bool   `json:"more,omitzero"`
	NextCursor string `json:"nextCursor,omitzero"`
	Examined   int    `json:"examined,omitzero"`
}

// ReplayTimersAnswer says how many dead letters the call replayed. It skips a timer if one with the same id is pending. Repeat the
// call while there is More, with NextCursor as Cursor.
type ReplayTimersAnswer struct {
	Replayed   int    `json:"replayed"`
	Skipped    int    `json:"skipped"`
	More       bool   `json:"more,omitzero"`
	NextCursor string `json:"nextCursor,omitzero"`
	Examined   int    `json:"examined,omitzero"`
}

// DiscardTimersAnswer says how many dead letters the call removed. Repeat the call while there is More, with NextCursor as Cursor.
type DiscardTimersAnswer struct {
	Discarded  int    `json:"discarded"`
	More       bool   `json:"more,omitzero"`
	NextCursor string `json:"nextCursor,omitzero"`
	Examined   int    `json:"examined,omitzero"`
}

// CountTimersAnswer says how many timers match. If Capped, there are at least this many.
type CountTimersAnswer struct {
	Count    int  `json:"count"`
	Capped   bool `json:"capped"`
	Examined int  `json:"examined,omitzero"`
}

// TimerHistogramAnswer says how many timers there are in each part of the span.
type TimerHistogramAnswer struct {
	From         time.Time `json:"from"`
	Until        time.Time `json:"until"`
	Counts       []int     `json:"counts"`
	Total        int       `json:"total"`
	Estimated    bool      `json:"estimated"`
	AsOf         time.Time `json:"asOf"`
	Capped       bool      `json:"capped,omitzero"`
	CountedUntil time.Time `json:"countedUntil,omitzero"`
	Examined     int       `json:"examined,omitzero"`
	// Missing are the nodes that did not answer.
	Missing []string `json:"missing,omitzero"`
}

// ActivityPoint is what happened in one step.
type ActivityPoint struct {
	At        time.Time `json:"at"`
	Created   int       `json:"created"`
	Delivered int       `json:"delivered"`
	Retried   int       `json:"retried"`
	Dead      int       `json:"dead"`
	Cancelled int       `json:"cancelled"`
	// Lateness is how many first attempts were this late, by the bounds in LatenessUpTo.
	Lateness []int `json:"lateness,omitzero"`
}

// ActivitySeries is the lateness of one namespace or host. Its points only have At and Lateness.
type ActivitySeries struct {
	Name   string          `json:"name"`
	Points []ActivityPoint `json:"points"`
}

// ActivityAnswer says how much happened in each step.
type ActivityAnswer struct {
	From  time.Time     `json:"from"`
	Until time.Time     `json:"until"`
	Step  time.Duration `json:"step"`
	// LatenessUpTo are the upper bounds of the counts in Lateness. One more count has the rest.
	LatenessUpTo []time.Duration  `json:"latenessUpToMs"`
	Points       []ActivityPoint  `json:"points"`
	Series       []ActivitySeries `json:"series,omitzero"`
	// Partial: some namespaces were counted together, and are not in the answer.
	Partial bool `json:"partial,omitzero"`
	// Missing are the nodes that did not answer.
	Missing []string `json:"missing"`
}

// UnmarshalJSON reads the activity as the service writes it.
func (a *ActivityAnswer) UnmarshalJSON(data []byte) error { return wire.Decode(data, a) }

// MarshalJSON writes the activity as the service does.
func (a ActivityAnswer) MarshalJSON() ([]byte, error) { return wire.Encode(a) }

type listTimersAnswer struct {
	Timers     []*Timer `json:"timers"`
	NextCursor string   `json:"nextCursor"`
	Examined   int      `json:"examined"`
}

type listLivesAnswer struct {
	Lives      []*Timer `json:"lives"`
	NextCursor string   `json:"nextCursor"`
}

type timerAnswer struct {
	Timer *Timer `json:"timer"`
}

type createManyTimersAnswer struct {
	Results []CreatedItem `json:"results"`
}
