package punctual

import (
	"context"
	"encoding/json"
	"time"
)

// WebhookSecret is a new secret of a namespace, or one that stays, by its fingerprint.
type WebhookSecret struct {
	// Secret is whsec_ and base64.
	Secret string `json:"-"`
	// Fingerprint is how answers show a secret.
	Fingerprint string `json:"fingerprint"`
}

// MarshalJSON writes the secret in the words of the service.
func (s WebhookSecret) MarshalJSON() ([]byte, error) {
	if s.Secret != "" {
		return json.Marshal(s.Secret)
	}
	return json.Marshal(map[string]string{"fingerprint": s.Fingerprint})
}

// PutNamespace has the settings to change. A field that is nil or zero stays as it is.
type PutNamespace struct {
	// Namespace is that of the client if empty.
	Namespace string `json:"namespace"`
	// WebhookSecrets are at most two.
	WebhookSecrets   []WebhookSecret `json:"webhookSecrets,omitzero"`
	RetryPolicy      *RetryPolicy    `json:"retryPolicy,omitzero"`
	OnDead           *Target         `json:"onDead,omitzero"`
	MaxInFlight      int             `json:"maxInFlight,omitzero"`
	MaxPending       *int            `json:"maxPending,omitzero"`
	CreatesPerSecond int             `json:"createsPerSecond,omitzero"`
	Paused           *bool           `json:"paused,omitzero"`
	// PauseReason says why firing stops. It needs Paused.
	PauseReason string `json:"pauseReason,omitzero"`
	// Clear names the fields to set back to their defaults, such as retryPolicy.
	Clear []string `json:"-"`
}

// GetNamespace names one namespace.
type GetNamespace struct {
	Namespace string `json:"namespace"`
}

// ListNamespaces says which namespaces to list.
type ListNamespaces struct {
	Prefix string `json:"prefix,omitzero"`
	Cursor string `json:"cursor,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

// NamespaceSettings are the settings of a namespace. A limit that is nil or 0 is that of the service.
type NamespaceSettings struct {
	Namespace string `json:"namespace"`
	// WebhookSecrets only have their fingerprints.
	WebhookSecrets   []WebhookSecret `json:"webhookSecrets"`
	RetryPolicy      *RetryPolicy    `json:"retryPolicy,omitzero"`
	OnDead           *Target         `json:"onDead,omitzero"`
	MaxInFlight      int             `json:"maxInFlight,omitzero"`
	MaxPending       *int            `json:"maxPending,omitzero"`
	CreatesPerSecond int             `json:"createsPerSecond,omitzero"`
	Paused           bool            `json:"paused"`
	PausedSince      time.Time       `json:"pausedSince,omitzero"`
	PauseReason      string          `json:"pauseReason,omitzero"`
	UpdatedAt        time.Time       `json:"updatedAt,omitzero"`
}

// CappedCount is a count with a limit. If Capped, there are at least this many.
type CappedCount struct {
	Count  int  `json:"count"`
	Capped bool `json:"capped"`
}

// NamespaceView is the settings of a namespace, and how many timers it has.
type NamespaceView struct {
	NamespaceSettings
	Pending CappedCount `json:"pending"`
	Dead    CappedCount `json:"dead"`
}

// MadeSealingKey is the file of the key that the service made to seal secrets with. Back up the file.
type MadeSealingKey struct {
	File string `json:"file"`
}

// PutNamespaceAnswer is the settings after the change.
type PutNamespaceAnswer struct {
	Settings       NamespaceSettings `json:"settings"`
	MadeSealingKey *MadeSealingKey   `json:"madeSealingKey,omitzero"`
}

type namespaceAnswer struct {
	Settings *NamespaceView `json:"settings"`
}

type listNamespacesAnswer struct {
	Namespaces []*NamespaceView `json:"namespaces"`
	NextCursor string           `json:"nextCursor"`
}

// Namespaces has the settings of namespaces.
type Namespaces struct{ client *Client }

var resettable = []string{
	"webhookSecrets", "retryPolicy", "onDead", "maxInFlight", "maxPending", "createsPerSecond", "paused",
}

// Put changes settings: secrets, retry policy, quotas, pause.
func (n *Namespaces) Put(ctx context.Context, request PutNamespace, options ...CallOption) (*PutNamespaceAnswer, error) {
	if err := n.client.inNamespace(&request.Namespace); err != nil {
		return nil, err
	}
	body, err := encodedWithout(request, request.Clear, resettable)
	if err != nil {
		return nil, err
	}
	return callWith[PutNamespaceAnswer](ctx, n.client, "namespaces.put", body, options)
}

// Get returns the settings and counts of a namespace.
func (n *Namespaces) Get(ctx context.Context, request GetNamespace, options ...CallOption) (*NamespaceView, error) {
	if err := n.client.inNamespace(&request.Namespace); err != nil {
		return nil, err
	}
	answer, err := call[namespaceAnswer](ctx, n.client, "namespaces.get", request, options)
	if err != nil {
		return nil, err
	}
	return answer.Settings, nil
}

// List lists all namespaces that the key may read, by name.
func (n *Namespaces) List(request ListNamespaces, options ...CallOption) *List[*NamespaceView] {
	requestAt := func(cursor string) (any, error) {
		return ListNamespaces{request.Prefix, cursor, request.Limit}, nil
	}
	pageOf := func(page *listNamespacesAnswer) *Page[*NamespaceView] {
		return &Page[*NamespaceView]{Items: page.Namespaces, NextCursor: page.NextCursor}
	}
	return listOf(n.client, "namespaces.list", request.Cursor, requestAt, pageOf, options)
}
