package punctual

import (
	"context"
	"time"

	"punctual.dev/client/internal/wire"
)

// BulkAction is what a job does with the timers.
type BulkAction string

// The actions of jobs.
const (
	BulkReplay  BulkAction = "replay"
	BulkDiscard BulkAction = "discard"
	BulkCancel  BulkAction = "cancel"
)

// BulkState is what a job does now.
type BulkState string

// The states of jobs.
const (
	BulkRunning BulkState = "running"
	BulkDone    BulkState = "done"
	BulkAborted BulkState = "aborted"
	BulkFailed  BulkState = "failed"
)

// BulkFilter selects the timers of a job. Without other fields: all timers of the namespaces. See TimerFilter.
type BulkFilter struct {
	// Namespace is that of the client if it and Namespaces are empty.
	Namespace     string        `json:"namespace,omitzero"`
	Namespaces    []string      `json:"namespaces,omitzero"`
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

// UnmarshalJSON reads the filter as the service writes it.
func (f *BulkFilter) UnmarshalJSON(data []byte) error { return wire.Decode(data, f) }

// MarshalJSON writes the filter as the service does.
func (f BulkFilter) MarshalJSON() ([]byte, error) { return wire.Encode(f) }

// StartBulk is a job to start.
type StartBulk struct {
	Do     BulkAction `json:"do"`
	Filter BulkFilter `json:"filter"`
	// Reason is for the audit trail.
	Reason string `json:"reason"`
	// PerSecond is how many timers in a second: 500 if left out, at most 5,000.
	PerSecond int `json:"perSecond,omitzero"`
	// Expect is the count of the same filter. If over 10 % more timers match, the job does not start.
	Expect int `json:"expect"`
}

// GetBulk names one job.
type GetBulk struct {
	JobID string `json:"jobId"`
}

// AbortBulk names the job to stop.
type AbortBulk GetBulk

// ListBulk says which jobs to list.
type ListBulk struct {
	Cursor string `json:"cursor,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

// BulkProgress is what a job has done so far.
type BulkProgress struct {
	Replayed  int `json:"replayed,omitzero"`
	Discarded int `json:"discarded,omitzero"`
	Cancelled int `json:"cancelled,omitzero"`
	InFlight  int `json:"inFlight,omitzero"`
	Skipped   int `json:"skipped,omitzero"`
}

// BulkStarter is who started a job.
type BulkStarter struct {
	Caller string `json:"caller"`
	KeyID  string `json:"keyId,omitzero"`
}

// BulkJob is a job on many timers.
type BulkJob struct {
	JobID      string       `json:"jobId"`
	Do         BulkAction   `json:"do"`
	Filter     BulkFilter   `json:"filter"`
	Reason     string       `json:"reason"`
	PerSecond  int          `json:"perSecond"`
	Expect     int          `json:"expect"`
	Capped     bool         `json:"capped,omitzero"`
	State      BulkState    `json:"state"`
	StartedBy  BulkStarter  `json:"startedBy"`
	StartedAt  time.Time    `json:"startedAt"`
	FinishedAt time.Time    `json:"finishedAt,omitzero"`
	Done       BulkProgress `json:"done"`
	Examined   int          `json:"examined"`
	// Problem is why the job failed; or, while it runs, why it waits.
	Problem string `json:"problem,omitzero"`
}

type bulkAnswer struct {
	Job *BulkJob `json:"job"`
}

type listBulkAnswer struct {
	Jobs       []*BulkJob `json:"jobs"`
	NextCursor string     `json:"nextCursor"`
}

// Bulk has jobs that replay, discard or cancel many timers, also of several namespaces.
type Bulk struct{ client *Client }

// Start starts a job. The client never repeats it after a time-out: look with List first.
func (b *Bulk) Start(ctx context.Context, request StartBulk, options ...CallOption) (*BulkJob, error) {
	if err := b.client.inScope(&request.Filter.Namespace, request.Filter.Namespaces); err != nil {
		return nil, err
	}
	return b.job(ctx, "bulk.start", request, options)
}

// Get returns the progress of a job.
func (b *Bulk) Get(ctx context.Context, request GetBulk, options ...CallOption) (*BulkJob, error) {
	return b.job(ctx, "bulk.get", request, options)
}

// List lists all jobs, newest first.
func (b *Bulk) List(request ListBulk, options ...CallOption) *List[*BulkJob] {
	requestAt := func(cursor string) (any, error) { return ListBulk{cursor, request.Limit}, nil }
	pageOf := func(page *listBulkAnswer) *Page[*BulkJob] {
		return &Page[*BulkJob]{Items: page.Jobs, NextCursor: page.NextCursor}
	}
	return listOf(b.client, "bulk.list", request.Cursor, requestAt, pageOf, options)
}

// Abort stops a job. What it has done stays done.
func (b *Bulk) Abort(ctx context.Context, request AbortBulk, options ...CallOption) (*BulkJob, error) {
	return b.job(ctx, "bulk.abort", request, options)
}

func (b *Bulk) job(ctx context.Context, operation string, request any, options []CallOption) (*BulkJob, error) {
	answer, err := call[bulkAnswer](ctx, b.client, operation, request, options)
	if err != nil {
		return nil, err
	}
	return answer.Job, nil
}
