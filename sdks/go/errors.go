package punctual

import (
	"encoding/json"
	"time"

	"punctual.dev/client/internal/wire"
)

// Error is a failed call. Find it with errors.As, or ask for its family with errors.Is:
//
//	if errors.Is(err, punctual.ErrNotFound) { … }
//
// If the context of the caller ended the call, errors.Is also finds context.Canceled or context.DeadlineExceeded.
type Error struct {
	// Code is the code of the problem, or of what went wrong on the way. Codes of newer services are kept.
	Code Code
	// Family groups codes. It is what errors.Is compares.
	Family Family
	// Status is the HTTP status; 0 if nothing answered.
	Status int
	// RequestID is the id of the request in the logs of the service, if it answered.
	RequestID string
	// Problem is the problem document, if the service answered one.
	Problem *Problem
	// Written says whether the call may have changed anything, in all its tries together.
	Written Written
	// Retryable: the same call may succeed later, without any change. Look at Written before you repeat it.
	Retryable bool
	// RetryAfter is how long the service asks to wait.
	RetryAfter time.Duration
	// Message says what happened, for a person.
	Message string
	// Err is the cause, if there is one.
	Err error
}

// Error says what happened.
func (e *Error) Error() string { return "punctual: " + e.Message }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Is compares the family: errors.Is(err, punctual.ErrConflict).
func (e *Error) Is(target error) bool { return target == error(e.Family) }

// Family is a kind of failures. Each is an error, for errors.Is.
type Family string

// Error names the family.
func (f Family) Error() string { return "punctual: " + string(f) }

// The families.
const (
	// ErrInvalidRequest: the request is wrong. The service refused it, or the client did not even send it.
	ErrInvalidRequest Family = "invalidRequest"
	// ErrAccess: the key is missing or wrong, KeyFunc failed, or the key does not have the right.
	ErrAccess Family = "access"
	// ErrNotFound: there is no such timer, key, job or message.
	ErrNotFound Family = "notFound"
	// ErrConflict: the state does not allow the call. The timer exists, has another revision, or is being delivered.
	ErrConflict Family = "conflict"
	// ErrQuota: a quota is used up. RetryAfter says when to try again.
	ErrQuota Family = "quota"
	// ErrUnavailable: the service could not do it now. It is overloaded, restarts, or has failed.
	ErrUnavailable Family = "unavailable"
	// ErrConnection: there was no usable answer. No connection, a broken one, a time-out, or the end of the context.
	ErrConnection Family = "connection"
)

// Written says whether a failed call may have changed anything.
type Written string

// WrittenNo: the call changed nothing and will not. WrittenUnknown: it may have done all of its work, or a part of it.
const (
	WrittenNo      Written = "no"
	WrittenUnknown Written = "unknown"
)

// Code says what went wrong. A newer service may have more codes.
type Code string

// The codes of problem documents (RFC 9457).
const (
	CodeInvalidJSON          Code = "invalidJson"
	CodeInvalidRequest       Code = "invalidRequest"
	CodeEgressRefused        Code = "egressRefused"
	CodeUnauthorized         Code = "unauthorized"
	CodeForbidden            Code = "forbidden"
	CodeNotFound             Code = "notFound"
	CodeMessageNotFound      Code = "messageNotFound"
	CodeTimerNotFound        Code = "timerNotFound"
	CodeKeyNotFound          Code = "keyNotFound"
	CodeJobNotFound          Code = "jobNotFound"
	CodeMethodNotAllowed     Code = "methodNotAllowed"
	CodeRequestTimeout       Code = "requestTimeout"
	CodeTimerExists          Code = "timerExists"
	CodeRevisionMismatch     Code = "revisionMismatch"
	CodeTimerInFlight        Code = "timerInFlight"
	CodeClockNotManual       Code = "clockNotManual"
	CodeRestoredFromBackup   Code = "restoredFromBackup"
	CodeKeyRefused           Code = "keyRefused"
	CodeMessageRefused       Code = "messageRefused"
	CodeCountChanged         Code = "countChanged"
	CodeBodyTooLarge         Code = "bodyTooLarge"
	CodeUnsupportedMediaType Code = "unsupportedMediaType"
	CodeQuotaExceeded        Code = "quotaExceeded"
	CodeInternal             Code = "internal"
	CodeBrokerUnavailable    Code = "brokerUnavailable"
	CodeOverloaded           Code = "overloaded"
	CodeOwnerUnavailable     Code = "ownerUnavailable"
)

// The codes of failures without a problem document.
const (
	// CodeConnectionRefused: no connection. The service got nothing.
	CodeConnectionRefused Code = "connectionRefused"
	// CodeConnectionLost: the connection broke before the answer was complete.
	CodeConnectionLost Code = "connectionLost"
	// CodeTimeout: there was no complete answer in time.
	CodeTimeout Code = "timeout"
	// CodeAborted: the caller cancelled the context.
	CodeAborted Code = "aborted"
	// CodeUnreadableAnswer: something answered, but not in the words of this service. A proxy, or another program.
	CodeUnreadableAnswer Code = "unreadableAnswer"
)

// FieldError is what is wrong with one field of a request.
type FieldError struct {
	// Pointer is a JSON pointer (RFC 6901) to the field; empty for the whole body.
	Pointer string `json:"pointer"`
	// Detail says what is wrong with the field, and how to fix it.
	Detail string `json:"detail"`
}

// Problem is a failure as the service answers it: application/problem+json.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Code   Code   `json:"code"`
	Detail string `json:"detail"`
	// Errors are the wrong fields of an invalid request.
	Errors []FieldError `json:"errors,omitzero"`
	// CurrentRevision is the revision of the timer now, with CodeRevisionMismatch.
	CurrentRevision int64 `json:"currentRevision,omitzero"`
	// CurrentCount says how many timers match now, with CodeCountChanged.
	CurrentCount int `json:"currentCount,omitzero"`
	// Quota says which quota, with CodeQuotaExceeded.
	Quota string `json:"quota,omitzero"`
	// RetryAfterSeconds says when to try again, with 429 and 503.
	RetryAfterSeconds int `json:"retryAfterSeconds,omitzero"`
	// Written says whether the service may have written anything, with 429 and 503.
	Written Written `json:"written,omitzero"`
	// Extra has the fields that this version does not know.
	Extra map[string]json.RawMessage `json:"-"`
}

// UnmarshalJSON reads the problem, and keeps the fields of newer services in Extra.
func (p *Problem) UnmarshalJSON(data []byte) error { return wire.Decode(data, p) }

// MarshalJSON writes the problem as the service does.
func (p Problem) MarshalJSON() ([]byte, error) { return wire.Encode(p) }

// refused is the error of a request that the client does not send.
func refused(field, detail string) *Error {
	return &Error{
		Code:    CodeInvalidRequest,
		Family:  ErrInvalidRequest,
		Written: WrittenNo,
		Message: field + " " + detail,
	}
}
