// Package webhook receives timers. A [Handler] is an [http.Handler] that owns the body: it checks the signature over the bytes, parses
// them, calls your function, and turns what the function returns into the answer that Punctual understands.
//
//	handler, err := webhook.NewHandler(webhook.Options{
//		Secrets: []string{os.Getenv("WEBHOOK_SECRET")},
//		Handle: func(ctx context.Context, event *webhook.Event) (*webhook.Again, error) {
//			return nil, remind(ctx, event.TimerID)
//		},
//	})
//	http.Handle("POST /hooks", handler)
package webhook

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"time"

	"punctual.dev/client/internal/wire"
)

// Func is your function. The context ends when Punctual gives up the attempt.
//
//	return nil, nil                                   // the timer is delivered
//	return &webhook.Again{Delay: punctual.Day}, nil   // delivered, and armed again
//	return nil, webhook.Retry(5 * time.Minute)        // another attempt then
//	return nil, webhook.Dead("no such customer")      // no other attempt
//	return nil, err                                   // another attempt; the failure counts for the breaker of the host
type Func func(ctx context.Context, event *Event) (*Again, error)

// Again arms the timer again: after Delay, or at ExecuteAt. The earliest instant is in one second.
type Again struct {
	Delay     time.Duration
	ExecuteAt time.Time
	// Payload is the new payload; the old one if nil.
	Payload any
}

// Retry asks for another attempt: after this time, or by the retry policy if it is 0. It counts as an attempt, but not for the breaker
// of the host. A time that is negative or longer than ten years is a mistake of the program, and counts as any other error.
func Retry(after time.Duration) error { return retryError{after} }

// Dead ends the timer, because no attempt can succeed. It becomes a dead letter, and its last attempt shows the reason.
func Dead(reason string) error { return deadError{reason} }

type retryError struct{ after time.Duration }

func (e retryError) Error() string {
	return fmt.Sprintf("webhook: the handler asks for another attempt after %s", e.after)
}

type deadError struct{ reason string }

func (e deadError) Error() string { return "webhook: no attempt can succeed: " + e.reason }

// Memory remembers which deliveries are done, so that repeats do nothing. Keep it where the work is, best in the same transaction.
type Memory interface {
	// Done says whether this delivery is done, and returns the answer that MarkDone got. If your function never arms timers again, the
	// answer may be empty.
	Done(ctx context.Context, fireID string) (answer string, isDone bool, err error)
	// MarkDone is called after success only. Keep the answer if your function arms timers again: a repeat must answer the same. Its
	// context goes on if Punctual has given up the attempt, because the work is done all the same. It has a deadline of its own.
	MarkDone(ctx context.Context, fireID, answer string) error
}

// Options of a handler. Give Secrets or AllowUnsigned, and Handle or On.
type Options struct {
	// Secrets of the namespace, such as whsec_…. During a change give both.
	Secrets []string
	// AllowUnsigned accepts every request without a check, and logs a warning.
	AllowUnsigned bool
	// Handle is the function for all timers.
	Handle Func
	// On has functions by tag. The first tag of the timer that has a function counts.
	On map[string]Func
	// Fallback is for timers that On does not match. Without it they are answered 404, and Punctual retries them.
	Fallback Func
	// Memory drops repeats, if given.
	Memory Memory
	// Tolerance is the largest difference between the clocks; five minutes if zero.
	Tolerance time.Duration
	// Timeout is that of the target; 15 s if zero. It sets the deadline of your function.
	Timeout time.Duration
	// MaxBodyBytes: larger bodies are answered 413; 1 MiB if zero.
	MaxBodyBytes int64
	// Logger gets failures of your function; slog.Default() if nil. It never gets payloads.
	Logger *slog.Logger
	// Now is the clock for signatures; time.Now if nil.
	Now func() time.Time
}

// Handler receives timers. Make it with [NewHandler]. It must get requests whose body is unread, and is safe for concurrent use.
type Handler struct {
	options  Options
	verifier Verifier
}

const (
	usualTimeout      = 15 * time.Second
	usualMaxBodyBytes = 1 << 20
)

// NewHandler checks the options and makes a handler.
func NewHandler(options Options) (*Handler, error) {
	switch {
	case (options.Handle == nil) == (options.On == nil):
		return nil, errors.New("webhook: give exactly one of Handle and On")
	case options.Handle != nil && options.Fallback != nil:
		return nil, errors.New("webhook: Fallback is for On: remove it")
	case options.AllowUnsigned == (len(options.Secrets) > 0):
		return nil, errors.New("webhook: give at least one secret in Secrets, or AllowUnsigned")
	case options.Tolerance < 0 || options.Timeout < 0 || options.MaxBodyBytes < 0:
		return nil, errors.New("webhook: Tolerance, Timeout and MaxBodyBytes must not be negative")
	}
	for _, secret := range options.Secrets {
		if _, err := keyOf(secret); err != nil {
			return nil, err
		}
	}
	if options.Timeout == 0 {
		options.Timeout = usualTimeout
	}
	if options.MaxBodyBytes == 0 {
		options.MaxBodyBytes = usualMaxBodyBytes
	}
	if options.Logger == nil {
		options.Logger = slog.Default()
	}
	if options.AllowUnsigned {
		options.Logger.Warn("punctual: webhooks are accepted without a signature (AllowUnsigned)")
	}
	// A later change by the caller must not meet the requests.
	options.Secrets, options.On = slices.Clone(options.Secrets), maps.Clone(options.On)
	verifier := Verifier{Secrets: options.Secrets, Tolerance: options.Tolerance, Now: options.Now}
	return &Handler{options, verifier}, nil
}

// ServeHTTP checks a request, calls the function, and answers.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, h.options.MaxBodyBytes))
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		http.Error(w, "the body is too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil:
		http.Error(w, "the body did not arrive", http.StatusBadRequest)
		return
	case int64(len(body)) < r.ContentLength:
		h.options.Logger.WarnContext(r.Context(),
			"punctual: something read the body before the webhook handler: mount the handler before middleware that does")
		http.Error(w, "the body was read before the handler", http.StatusInternalServerError)
		return
	}
	if !h.options.AllowUnsigned {
		if err := h.verifier.Verify(r.Header, body); err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
	}
	event, err := Parse(r.Header, body)
	if err != nil {
		http.Error(w, "the body or a header is not that of a timer", http.StatusBadRequest)
		return
	}
	handle := h.pick(event.Tags)
	if handle == nil {
		http.Error(w, "no function handles the tags of this timer", http.StatusNotFound)
		return
	}
	h.run(w, r, event, handle)
}

func (h *Handler) pick(tags []string) Func {
	if h.options.Handle != nil {
		return h.options.Handle
	}
	for _, tag := range tags {
		if handle := h.options.On[tag]; handle != nil {
			return handle
		}
	}
	return h.options.Fallback
}

// run answers what the function returns.
func (h *Handler) run(w http.ResponseWriter, r *http.Request, event *Event, handle Func) {
	ctx, cancel := context.WithTimeout(r.Context(), h.options.Timeout)
	defer cancel()
	answer, err := h.answerOf(ctx, event, handle)
	var retry retryError
	var dead deadError
	switch {
	case errors.As(err, &dead):
		w.Header().Set("Punctual-Retry", "never")
		answerJSON(w, http.StatusUnprocessableEntity, jsonOf(map[string]string{"reason": dead.reason}))
		return
	case errors.As(err, &retry):
		answer, err = retryText(retry.after)
	}
	if err != nil {
		h.options.Logger.ErrorContext(r.Context(), "punctual: the handler of a timer failed",
			"namespace", event.Namespace, "timerId", event.TimerID, "error", err)
		http.Error(w, "the handler failed", http.StatusInternalServerError)
		return
	}
	answerJSON(w, http.StatusOK, answer)
}

// answerOf calls the function, unless its work is done already.
func (h *Handler) answerOf(ctx context.Context, event *Event, handle Func) (string, error) {
	// A call of OnDead has the fireId of the timer that died in its body, and its own one in the header.
	fireID := event.Header.Get("Webhook-Id")
	if h.options.Memory != nil {
		answer, isDone, err := h.options.Memory.Done(ctx, fireID)
		if isDone && answer == "" && err == nil {
			return againText(nil)
		}
		if isDone || err != nil {
			return answer, err
		}
	}
	again, err := handle(ctx, event)
	if err != nil {
		return "", err
	}
	answer, err := againText(again)
	if err == nil && h.options.Memory != nil {
		err = h.markDone(ctx, fireID, answer)
	}
	return answer, err
}

func (h *Handler) markDone(ctx context.Context, fireID, answer string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.options.Timeout)
	defer cancel()
	return h.options.Memory.MarkDone(ctx, fireID, answer)
}

type webhookAnswer struct {
	IsOK          bool           `json:"ok"`
	NextDelay     *time.Duration `json:"nextDelay,omitzero"`
	NextExecuteAt time.Time      `json:"nextExecuteAt,omitzero"`
	Payload       any            `json:"payload,omitzero"`
}

func againText(again *Again) (string, error) {
	if again == nil {
		return encode(webhookAnswer{IsOK: true})
	}
	answer := webhookAnswer{IsOK: true, NextExecuteAt: again.ExecuteAt, Payload: again.Payload}
	if again.ExecuteAt.IsZero() {
		// Without a next time the timer would be delivered for good.
		delay := max(again.Delay, time.Second)
		answer.NextDelay = &delay
	} else if again.Delay != 0 {
		return "", errors.New("webhook: give one of Delay and ExecuteAt in Again")
	}
	return encode(answer)
}

func retryText(after time.Duration) (string, error) {
	if after == 0 {
		return encode(webhookAnswer{IsOK: false})
	}
	return encode(webhookAnswer{IsOK: false, NextDelay: &after})
}

func encode(answer webhookAnswer) (string, error) {
	text, err := wire.Encode(answer)
	return string(text), err
}

func jsonOf(fields map[string]string) string {
	text, _ := json.Marshal(fields) // Texts can always be written.
	return string(text)
}

func answerJSON(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text) // If the caller is gone, nobody needs the answer.
}
