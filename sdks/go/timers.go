package punctual

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Timers has the calls about timers.
type Timers struct{ client *Client }

// Create creates a timer. When it returns, the timer is on stable storage. The client repeats the call after a time-out, unless
// OnExisting is ExistingFail; the result can then be ResultUnchanged instead of ResultCreated.
func (t *Timers) Create(ctx context.Context, request CreateTimer, options ...CallOption) (*CreateTimerAnswer, error) {
	body, err := t.completeCreate(request, options)
	if err != nil {
		return nil, err
	}
	return callWith[CreateTimerAnswer](ctx, t.client, "timers.create", body, options)
}

// CreateMany creates up to 1,000 timers in one call, in order. A timer that the service refuses does not affect the others: its
// item has a Problem. Look at the Err of each item.
func (t *Timers) CreateMany(ctx context.Context, timers []CreateTimer, options ...CallOption) ([]CreatedItem, error) {
	if len(timers) == 0 {
		return nil, refused("timers", "must not be empty")
	}
	items := make([][]byte, len(timers))
	for i, timer := range timers {
		item, err := t.completeCreate(timer, options)
		if err != nil {
			return nil, inItem(i, err)
		}
		items[i] = item
	}
	// The items are joined as text, so that raw payloads stay as they are.
	body := slices.Concat([]byte(`{"timers":[`), bytes.Join(items, []byte{','}), []byte("]}"))
	answer, err := callWith[createManyTimersAnswer](ctx, t.client, "timers.createMany", body, options)
	if err != nil {
		return nil, err
	}
	return answer.Results, nil
}

// inItem says which timer an error is about.
func inItem(index int, err error) error {
	var failure *Error
	if errors.As(err, &failure) {
		failure.Message = fmt.Sprintf("timers[%d].%s", index, failure.Message)
	}
	return err
}

// completeCreate gives a create an id and an instant, so that it can be repeated.
func (t *Timers) completeCreate(request CreateTimer, options []CallOption) ([]byte, error) {
	if err := t.client.inNamespace(&request.Namespace); err != nil {
		return nil, err
	}
	switch request.TimerID {
	case "":
		return nil, refused("timerId", "must not be empty: give AutoID to get a new one")
	case AutoID:
		id, err := newTimerID(t.client.connection.now())
		if err != nil {
			return nil, err
		}
		request.TimerID = id
	}
	if request.Delay == 0 && request.ExecuteAt.IsZero() {
		return nil, refused("executeAt", "or delay must be given: for a timer that fires at once give ExecuteAt: time.Now()")
	}
	if err := t.client.fixDelay(&request.ExecuteAt, &request.Delay, t.client.connection.settingsOf(options)); err != nil {
		return nil, err
	}
	return encoded(request)
}

// Get returns the pending timer with this id, or else the one that finished last. If there is none, the code is
// CodeTimerNotFound.
func (t *Timers) Get(ctx context.Context, request GetTimer, options ...CallOption) (*Timer, error) {
	if err := t.client.ofTimer(&request.Namespace, request.TimerID); err != nil {
		return nil, err
	}
	answer, err := call[timerAnswer](ctx, t.client, "timers.get", request, options)
	if err != nil {
		return nil, err
	}
	return answer.Timer, nil
}

var clearable = []string{"payload", "retryPolicy", "expireAfter", "onDead", "tags"}

// Update changes a pending timer. With IfRevision the client repeats the call after a time-out, else it does not.
func (t *Timers) Update(ctx context.Context, request UpdateTimer, options ...CallOption) (*UpdateTimerAnswer, error) {
	if err := t.client.ofTimer(&request.Namespace, request.TimerID); err != nil {
		return nil, err
	}
	if err := t.client.fixDelay(&request.ExecuteAt, &request.Delay, t.client.connection.settingsOf(options)); err != nil {
		return nil, err
	}
	body, err := encodedWithout(request, request.Clear, clearable)
	if err != nil {
		return nil, err
	}
	return callWith[UpdateTimerAnswer](ctx, t.client, "timers.update", body, options)
}

// encodedWithout is the body of a request that clears fields.
func encodedWithout(request any, clear, clearable []string) ([]byte, error) {
	for _, name := range clear {
		if !slices.Contains(clearable, name) {
			return nil, refused("clear", fmt.Sprintf("must have only %s, not %q", strings.Join(clearable, ", "), name))
		}
	}
	return encoded(request, clear...)
}

// Cancel cancels a timer, and says what that did. After ResultCancelled no attempt starts.
func (t *Timers) Cancel(ctx context.Context, request CancelTimer, options ...CallOption) (*CancelTimerAnswer, error) {
	if err := t.client.ofTimer(&request.Namespace, request.TimerID); err != nil {
		return nil, err
	}
	return call[CancelTimerAnswer](ctx, t.client, "timers.delete", request, options)
}

// CancelMany cancels a limited number of timers. Repeat it while the answer has More. The client never repeats it after a
// time-out.
func (t *Timers) CancelMany(ctx context.Context, request CancelManyTimers, options ...CallOption) (*CancelManyTimersAnswer, error) {
	if err := selectsOne("filter, all", request.Filter != nil, request.All); err != nil {
		return nil, err
	}
	if err := t.ofSelection(&request.Namespace, request.Filter); err != nil {
		return nil, err
	}
	return call[CancelManyTimersAnswer](ctx, t.client, "timers.deleteMany", request, options)
}

// List lists the timers that match.
func (t *Timers) List(request ListTimers, options ...CallOption) *List[*Timer] {
	requestAt := func(cursor string) (any, error) {
		at := request
		at.Cursor = cursor
		err := t.client.inScope(&at.Namespace, at.Namespaces)
		return at, err
	}
	pageOf := func(page *listTimersAnswer) *Page[*Timer] {
		return &Page[*Timer]{Items: page.Timers, NextCursor: page.NextCursor, Examined: page.Examined}
	}
	return listOf(t.client, "timers.list", request.Cursor, requestAt, pageOf, options)
}

// Lives lists all lives of a timer id that the service still has, latest first.
func (t *Timers) Lives(request ListLives, options ...CallOption) *List[*Timer] {
	requestAt := func(cursor string) (any, error) {
		at := request
		at.Cursor = cursor
		err := t.client.ofTimer(&at.Namespace, at.TimerID)
		return at, err
	}
	pageOf := func(page *listLivesAnswer) *Page[*Timer] {
		return &Page[*Timer]{Items: page.Lives, NextCursor: page.NextCursor}
	}
	return listOf(t.client, "timers.lives", request.Cursor, requestAt, pageOf, options)
}

// Count says how many timers match.
func (t *Timers) Count(ctx context.Context, request CountTimers, options ...CallOption) (*CountTimersAnswer, error) {
	if err := t.client.inScope(&request.Namespace, request.Namespaces); err != nil {
		return nil, err
	}
	return call[CountTimersAnswer](ctx, t.client, "timers.count", request, options)
}

// Histogram says how many timers there are in each part of a span of time.
func (t *Timers) Histogram(ctx context.Context, request TimerHistogram, options ...CallOption) (*TimerHistogramAnswer, error) {
	if err := t.client.inScope(&request.Filter.Namespace, request.Filter.Namespaces); err != nil {
		return nil, err
	}
	return call[TimerHistogramAnswer](ctx, t.client, "timers.histogram", request, options)
}

// Activity says what happened over time: created, delivered, retried, dead and cancelled timers in each step.
func (t *Timers) Activity(ctx context.Context, request GetActivity, options ...CallOption) (*ActivityAnswer, error) {
	if request.Namespaces == nil && t.client.namespace != "" {
		request.Namespaces = []string{t.client.namespace}
	}
	return call[ActivityAnswer](ctx, t.client, "timers.activity", request, options)
}

// Replay arms dead letters again. The client never repeats it after a time-out, except with DryRun.
func (t *Timers) Replay(ctx context.Context, request ReplayTimers, options ...CallOption) (*ReplayTimersAnswer, error) {
	if err := t.ofDead(&request.Namespace, request.TimerID, request.Filter, request.All); err != nil {
		return nil, err
	}
	return call[ReplayTimersAnswer](ctx, t.client, "timers.replay", request, options)
}

// Discard removes dead letters. The client never repeats it after a time-out, except with DryRun.
func (t *Timers) Discard(ctx context.Context, request DiscardTimers, options ...CallOption) (*DiscardTimersAnswer, error) {
	if err := t.ofDead(&request.Namespace, request.TimerID, request.Filter, request.All); err != nil {
		return nil, err
	}
	return call[DiscardTimersAnswer](ctx, t.client, "timers.discard", request, options)
}

// ofDead completes a request about dead letters. It must say which ones.
func (t *Timers) ofDead(namespace *string, timerID string, filter *TimerFilter, all bool) error {
	if err := selectsOne("timerId, filter, all", timerID != "", filter != nil, all); err != nil {
		return err
	}
	return t.ofSelection(namespace, filter)
}

// selectsOne refuses a request that selects nothing or everything by mistake, for example by an empty id of an unset variable.
func selectsOne(choices string, given ...bool) error {
	count := 0
	for _, isGiven := range given {
		if isGiven {
			count++
		}
	}
	if count != 1 {
		return refused("request", "must have exactly one of "+choices)
	}
	return nil
}

func (t *Timers) ofSelection(namespace *string, filter *TimerFilter) error {
	if filter != nil && *filter == (TimerFilter{}) {
		return refused("filter", "must have at least one field: for all timers give All instead")
	}
	return t.client.inNamespace(namespace)
}
