package punctual

import (
	"context"
	"encoding/json"
	"time"
)

// ListMessages says which messages to list.
type ListMessages struct {
	// Namespace: all that the key may read if empty.
	Namespace string `json:"namespace,omitzero"`
	Cursor    string `json:"cursor,omitzero"`
	Limit     int    `json:"limit,omitzero"`
}

// GetMessage names one message.
type GetMessage struct {
	// Namespace is that of the client if empty.
	Namespace string `json:"namespace"`
	ID        string `json:"id"`
}

// ReplayMessage names the message to handle again.
type ReplayMessage GetMessage

// DiscardMessage names the message to remove.
type DiscardMessage GetMessage

// MessageReason says why a message was set aside.
type MessageReason string

// The reasons to set a message aside.
const (
	MessageMalformed           MessageReason = "malformed"
	MessageRefused             MessageReason = "refused"
	MessageDeliveriesExhausted MessageReason = "deliveriesExhausted"
)

// MessageFailure is when and why a message failed.
type MessageFailure struct {
	At    time.Time `json:"at"`
	Error string    `json:"error"`
}

// MessageHead has the fields of every message.
type MessageHead struct {
	ID            string         `json:"id"`
	Namespace     string         `json:"namespace"`
	StoredAt      time.Time      `json:"storedAt"`
	Reason        MessageReason  `json:"reason"`
	Group         string         `json:"group,omitzero"`
	Deliveries    int            `json:"deliveries"`
	FirstFailure  MessageFailure `json:"firstFailure"`
	LastFailure   MessageFailure `json:"lastFailure"`
	Type          string         `json:"type,omitzero"`
	AggregateID   string         `json:"aggregateId,omitzero"`
	MessageID     string         `json:"messageId,omitzero"`
	CorrelationID string         `json:"correlationId,omitzero"`
	MessageBytes  int            `json:"messageBytes"`
	IsCut         bool           `json:"isCut,omitzero"`
}

// ListedMessage is a message in a list.
type ListedMessage struct {
	MessageHead
	Preview string `json:"preview"`
}

// StoredMessage is a whole message.
type StoredMessage struct {
	MessageHead
	Envelope json.RawMessage `json:"envelope,omitzero"`
	// Raw is the message in base64, if it is no envelope.
	Raw string `json:"raw,omitzero"`
}

// ReplayMessageAnswer says what a replay did. ResultDuplicate: the broker has had this replay already.
type ReplayMessageAnswer struct {
	Result Result `json:"result"`
}

// DiscardMessageAnswer is the message that was removed.
type DiscardMessageAnswer struct {
	Result Result `json:"result"`
}

// The results of calls about messages.
const (
	ResultReplayed  Result = "replayed"
	ResultDuplicate Result = "duplicate"
	ResultDiscarded Result = "discarded"
)

type messageAnswer struct {
	Message *StoredMessage `json:"message"`
}

type listMessagesAnswer struct {
	Messages   []*ListedMessage `json:"messages"`
	NextCursor string           `json:"nextCursor"`
}

// Messages has the messages from the broker that could not be handled.
type Messages struct{ client *Client }

// List lists all messages that could not be handled.
func (m *Messages) List(request ListMessages, options ...CallOption) *List[*ListedMessage] {
	requestAt := func(cursor string) (any, error) {
		return ListMessages{request.Namespace, cursor, request.Limit}, nil
	}
	pageOf := func(page *listMessagesAnswer) *Page[*ListedMessage] {
		return &Page[*ListedMessage]{Items: page.Messages, NextCursor: page.NextCursor}
	}
	return listOf(m.client, "messages.list", request.Cursor, requestAt, pageOf, options)
}

// Get returns one message with its content.
func (m *Messages) Get(ctx context.Context, request GetMessage, options ...CallOption) (*StoredMessage, error) {
	if err := m.client.inNamespace(&request.Namespace); err != nil {
		return nil, err
	}
	answer, err := call[messageAnswer](ctx, m.client, "messages.get", request, options)
	if err != nil {
		return nil, err
	}
	return answer.Message, nil
}

// Replay handles a message again. The client never repeats it after a time-out.
func (m *Messages) Replay(ctx context.Context, request ReplayMessage, options ...CallOption) (*ReplayMessageAnswer, error) {
	if err := m.client.inNamespace(&request.Namespace); err != nil {
		return nil, err
	}
	return call[ReplayMessageAnswer](ctx, m.client, "messages.replay", request, options)
}

// Discard removes a message. The client never repeats it after a time-out.
func (m *Messages) Discard(ctx context.Context, request DiscardMessage, options ...CallOption) (*DiscardMessageAnswer, error) {
	if err := m.client.inNamespace(&request.Namespace); err != nil {
		return nil, err
	}
	return call[DiscardMessageAnswer](ctx, m.client, "messages.discard", request, options)
}
