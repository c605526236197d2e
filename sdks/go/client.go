package punctual

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"punctual.dev/client/internal/wire"
)

// Client calls one service. Make it with [New]. It is safe for concurrent use, and keeps connections: make it once.
type Client struct {
	// Timers has the calls about timers. The others are for operators.
	Timers     *Timers
	Bulk       *Bulk
	Namespaces *Namespaces
	Service    *Service
	Breakers   *Breakers
	Cluster    *Cluster
	Clock      *Clock
	Egress     *Egress
	Keys       *Keys
	Sessions   *Sessions
	Audit      *Audit
	Messages   *Messages
	Events     *Events

	connection *connection
	namespace  string
}

// New makes a client. It checks the options, and sends nothing.
func New(options Options) (*Client, error) {
	connection, err := connectionOf(options)
	if err != nil {
		return nil, err
	}
	client := &Client{connection: connection, namespace: options.Namespace}
	client.Timers = &Timers{client}
	client.Bulk = &Bulk{client}
	client.Namespaces = &Namespaces{client}
	client.Service = &Service{client}
	client.Breakers = &Breakers{client}
	client.Cluster = &Cluster{client}
	client.Clock = &Clock{client}
	client.Egress = &Egress{client}
	client.Keys = &Keys{client}
	client.Sessions = &Sessions{client}
	client.Audit = &Audit{client}
	client.Messages = &Messages{client}
	client.Events = &Events{client}
	return client, nil
}

// CloseIdleConnections closes the connections that no call uses now. A program that makes a client for a short while calls it at the
// end. The client stays usable. If Options has an HTTPClient, its connections are closed.
func (c *Client) CloseIdleConnections() { c.connection.http.CloseIdleConnections() }

// Answer is an answer with its exact text.
type Answer struct {
	// Text is the JSON, as the service wrote it.
	Text json.RawMessage
	// RequestID is the id of the request in the logs of the service.
	RequestID string
}

// Do calls an operation by its id in the OpenAPI document, such as timers.create, with the fields as they are. Use it for calls
// and fields that this version does not know. A json.RawMessage is sent byte for byte, a request of this package as its own call
// sends it, and any other value as encoding/json writes it. With nil the request has no fields.
func (c *Client) Do(ctx context.Context, operation string, request any, options ...CallOption) (*Answer, error) {
	if request == nil {
		request = struct{}{}
	}
	body, err := encoded(request)
	if err != nil {
		return nil, err
	}
	return c.send(ctx, operation, body, options)
}

func (c *Client) send(ctx context.Context, operation string, body []byte, options []CallOption) (*Answer, error) {
	outgoing := &outgoing{
		operation: operation,
		path:      pathOf(operation),
		body:      body,
		class:     repeatClassOf(operation, body),
	}
	answer, err := c.connection.send(ctx, outgoing, c.connection.settingsOf(options))
	if err != nil {
		return nil, err
	}
	if !json.Valid(answer.Text) {
		return nil, unreadable(outgoing, answer, errors.New("not JSON"))
	}
	return answer, nil
}

// call sends a request and reads the answer.
func call[A any](ctx context.Context, c *Client, operation string, request any, options []CallOption) (*A, error) {
	body, err := encoded(request)
	if err != nil {
		return nil, err
	}
	return callWith[A](ctx, c, operation, body, options)
}

func callWith[A any](ctx context.Context, c *Client, operation string, body []byte, options []CallOption) (*A, error) {
	answer, err := c.send(ctx, operation, body, options)
	if err != nil {
		return nil, err
	}
	var value A
	err = json.Unmarshal(answer.Text, &value)
	if missing := wire.Missing(value); err == nil && missing != "" {
		err = fmt.Errorf("%s is missing", missing)
	}
	if err != nil {
		return nil, unreadable(&outgoing{operation: operation, class: repeatClassOf(operation, body)}, answer, err)
	}
	return &value, nil
}

// encoded is the body of a request. A value that cannot be sent is refused.
func encoded(request any, nulls ...string) ([]byte, error) {
	body, err := wire.Encode(request, nulls...)
	var wrong *wire.FieldError
	if errors.As(err, &wrong) {
		return nil, refused(wrong.Field, wrong.Detail)
	}
	if err != nil {
		return nil, refused("request", err.Error())
	}
	return body, nil
}

func unreadable(outgoing *outgoing, answer *Answer, cause error) *Error {
	failure := &Error{
		Code:      CodeUnreadableAnswer,
		Family:    ErrConnection,
		Status:    200,
		RequestID: answer.RequestID,
		Written:   WrittenUnknown,
		Message: fmt.Sprintf("the answer of %s is not readable (%v): check that the URL is that of a Punctual service",
			outgoing.operation, cause),
		Err: cause,
	}
	if outgoing.class == repeatRead {
		failure.Written = WrittenNo
	}
	return failure
}

// pathOf: timers.create is at timers/create, and cluster.cluster at cluster.
func pathOf(operation string) string {
	group, name, _ := strings.Cut(operation, ".")
	if group == name {
		return group
	}
	return group + "/" + name
}

// inNamespace fills in the namespace of the client.
func (c *Client) inNamespace(namespace *string) error {
	if *namespace == "" {
		*namespace = c.namespace
	}
	if *namespace == "" {
		return refused("namespace", "is missing: give it in the request, or once for the client")
	}
	return nil
}

// inScope fills in the namespace of the client, unless the request names several.
func (c *Client) inScope(namespace *string, namespaces []string) error {
	if namespaces == nil {
		return c.inNamespace(namespace)
	}
	if len(namespaces) == 0 {
		return refused("namespaces", "must not be empty")
	}
	return nil
}

// ofTimer completes the key of one timer.
func (c *Client) ofTimer(namespace *string, timerID string) error {
	if timerID == "" {
		return refused("timerId", "must not be empty")
	}
	return c.inNamespace(namespace)
}

// fixDelay turns a delay into an instant, so that a repeat does not move the timer.
func (c *Client) fixDelay(executeAt *time.Time, delay *time.Duration, settings callSettings) error {
	if *delay < 0 || *delay > wire.MaxDuration {
		return refused("delay", "must be a duration from 0 to 3653 days")
	}
	if *delay == 0 || settings.delayFrom == DelayFromServer || !executeAt.IsZero() {
		return nil
	}
	*executeAt, *delay = c.connection.now().Add(*delay), 0
	return nil
}
