package punctual

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// What a failed try means: which error it is, and whether the service may have carried out the request.

// errTryTimeout is the cause of a try's context that took too long.
var errTryTimeout = errors.New("the time limit of the try")

// tookTooLong is the error of a try without a complete answer in time.
func tookTooLong(place string, limit time.Duration) *Error {
	return &Error{
		Code:      CodeTimeout,
		Family:    ErrConnection,
		Written:   WrittenUnknown,
		Retryable: true,
		Message:   fmt.Sprintf("%s did not answer within %s", place, limit.Round(time.Millisecond)),
		Err:       context.DeadlineExceeded,
	}
}

// endedByCaller is the error of a call whose context ended.
func endedByCaller(place string, cause error) *Error {
	if errors.Is(cause, context.DeadlineExceeded) {
		failure := tookTooLong(place, 0)
		failure.Message = place + " did not answer before the deadline of the context"
		return failure
	}
	return &Error{
		Code:    CodeAborted,
		Family:  ErrConnection,
		Written: WrittenUnknown,
		Message: "the context of the caller ended the call",
		Err:     cause,
	}
}

// noKey is the error of a call whose key cannot be read.
func noKey(err error) *Error {
	return &Error{
		Code:    CodeUnauthorized,
		Family:  ErrAccess,
		Written: WrittenNo,
		Message: fmt.Sprintf("the key cannot be read: %v", err),
		Err:     err,
	}
}

// noAnswer is the error of a try that broke. Before there is a connection, nothing is sent.
func noAnswer(place string, err error) *Error {
	var inURL *url.Error
	if errors.As(err, &inURL) {
		err = inURL.Err
	}
	failure := &Error{Family: ErrConnection, Retryable: true, Err: err}
	var limit net.Error
	switch {
	case isUnreached(err) || isUntrusted(err):
		failure.Code = CodeConnectionRefused
		failure.Written = WrittenNo
		failure.Retryable = !isUntrusted(err)
		failure.Message = fmt.Sprintf("there is no connection to %s (%v)", place, err)
	case errors.As(err, &limit) && limit.Timeout():
		failure.Code = CodeTimeout
		failure.Written = WrittenUnknown
		failure.Message = fmt.Sprintf("%s did not answer in time (%v)", place, err)
	default:
		failure.Code = CodeConnectionLost
		failure.Written = WrittenUnknown
		failure.Message = fmt.Sprintf("the connection to %s was lost (%v)", place, err)
	}
	return failure
}

// isUnreached says whether no connection was made, to the service or to the proxy before it.
func isUnreached(err error) bool {
	var operation *net.OpError
	return errors.As(err, &operation) && (operation.Op == "dial" || operation.Op == "proxyconnect")
}

// isUntrusted says whether TLS failed before the request was sent, and would fail again.
func isUntrusted(err error) bool {
	var certificate *tls.CertificateVerificationError
	return errors.As(err, &certificate) || errors.Is(err, http.ErrSchemeMismatch)
}

// badAnswer is the error of an answer that is no success.
func badAnswer(place string, status int, header http.Header, text []byte) *Error {
	failure := &Error{Status: status, RequestID: header.Get("X-Request-Id"), Written: WrittenNo}
	problem := problemIn(text)
	if problem == nil {
		failure.Code = CodeUnreadableAnswer
		failure.Family = ErrConnection
		failure.Message = fmt.Sprintf("%s answered %d, and not in the words of Punctual: check the URL", place, status)
		// These three are the answers of gateways that cannot reach their service.
		failure.Retryable = status == 502 || status == 503 || status == 504
		if status < 400 || status >= 500 {
			failure.Written = WrittenUnknown
		}
		return failure
	}
	failure.describe(problem, header)
	return failure
}

// describe fills in what a problem says.
func (e *Error) describe(problem *Problem, header http.Header) {
	e.Code = problem.Code
	e.Family = familyOf(e.Status)
	e.Problem = problem
	e.Message = fmt.Sprintf("%s: %s", problem.Code, detailOf(problem))
	e.Retryable = e.Status == 408 || e.Status == 429 || e.Status == 503
	e.RetryAfter = retryAfterOf(problem, header)
	switch {
	case problem.Written != "":
		e.Written = problem.Written
	case e.Status == 500:
		e.Written = WrittenUnknown
	}
}

func familyOf(status int) Family {
	switch {
	case status == 401 || status == 403:
		return ErrAccess
	case status == 404:
		return ErrNotFound
	case status == 409:
		return ErrConflict
	case status == 429:
		return ErrQuota
	case status >= 500:
		return ErrUnavailable
	default:
		return ErrInvalidRequest
	}
}

func problemIn(text []byte) *Problem {
	var problem Problem
	if json.Unmarshal(text, &problem) != nil || problem.Code == "" {
		return nil
	}
	return &problem
}

func detailOf(problem *Problem) string {
	if len(problem.Errors) == 0 {
		return problem.Detail
	}
	fields := make([]string, len(problem.Errors))
	for i, wrong := range problem.Errors {
		name := strings.ReplaceAll(strings.TrimPrefix(wrong.Pointer, "/"), "/", ".")
		fields[i] = strings.TrimSpace(name + " " + wrong.Detail)
	}
	return strings.Join(fields, "; ")
}

func retryAfterOf(problem *Problem, header http.Header) time.Duration {
	seconds := problem.RetryAfterSeconds
	if seconds == 0 {
		seconds, _ = strconv.Atoi(header.Get("Retry-After"))
	}
	return time.Duration(min(max(seconds, 0), math.MaxInt32)) * time.Second
}

// mayRepeat says whether another try is harmless and may help.
func mayRepeat(failure *Error, class repeatClass) bool {
	return failure.Retryable && (failure.Written == WrittenNo || class != repeatNever)
}

// withWritten is the error for the caller, after all tries: a read writes nothing, and an earlier try may have written.
func withWritten(failure *Error, written Written) *Error {
	if failure.Written == written {
		return failure
	}
	changed := *failure
	changed.Written = written
	return &changed
}
