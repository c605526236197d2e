package punctual

import (
	"context"
	"encoding/json"
	"time"
)

// KeyAction is something that a key may do.
type KeyAction string

// The actions. ActionEverything is all of them.
const (
	ActionTimersRead      KeyAction = "timers.read"
	ActionTimersWrite     KeyAction = "timers.write"
	ActionTimersCancel    KeyAction = "timers.cancel"
	ActionPayloadRead     KeyAction = "payload.read"
	ActionDeadReplay      KeyAction = "dead.replay"
	ActionDeadDiscard     KeyAction = "dead.discard"
	ActionNamespacesRead  KeyAction = "namespaces.read"
	ActionNamespacesWrite KeyAction = "namespaces.write"
	ActionServiceRead     KeyAction = "service.read"
	ActionServiceWrite    KeyAction = "service.write"
	ActionClockAdvance    KeyAction = "clock.advance"
	ActionBusRead         KeyAction = "bus.read"
	ActionBusWrite        KeyAction = "bus.write"
	ActionMetricsRead     KeyAction = "metrics.read"
	ActionAuditRead       KeyAction = "audit.read"
	ActionKeysManage      KeyAction = "keys.manage"
	ActionCallsRead       KeyAction = "calls.read"
	ActionCallsWrite      KeyAction = "calls.write"
	ActionEverything      KeyAction = "*"
)

// KeyRole is a usual set of actions.
type KeyRole string

// The roles.
const (
	RoleApp      KeyRole = "app"
	RoleViewer   KeyRole = "viewer"
	RoleOperator KeyRole = "operator"
	RoleAdmin    KeyRole = "admin"
)

// KeyState says whether a key works.
type KeyState string

// The states of keys.
const (
	KeyActive      KeyState = "active"
	KeyExpired     KeyState = "expired"
	KeyRevoked     KeyState = "revoked"
	KeyUnconfirmed KeyState = "unconfirmed"
	KeyUnreadable  KeyState = "unreadable"
)

// CreateKey is a key to make. Give Role or Actions.
type CreateKey struct {
	Label   string      `json:"label"`
	Role    KeyRole     `json:"role,omitzero"`
	Actions []KeyAction `json:"actions,omitzero"`
	// Namespaces are names, prefixes such as team-*, or just *.
	Namespaces []string      `json:"namespaces,omitzero"`
	ExpiresAt  time.Time     `json:"expiresAt,omitzero"`
	ExpiresIn  time.Duration `json:"expiresIn,omitzero"`
}

// GetKey names one key by its public id.
type GetKey struct {
	ID string `json:"id"`
}

// RotateKey names the key that gets a new secret.
type RotateKey struct {
	ID string `json:"id"`
	// Grace is how long the old secret stays valid; 24 hours if nil.
	Grace *time.Duration `json:"grace,omitzero"`
}

// RevokeKey names the key that ends.
type RevokeKey GetKey

// RevokeLeakedKey is a key that others have seen. Who knows it may revoke it.
type RevokeLeakedKey struct {
	APIKey string `json:"apiKey"`
}

// ConfirmKeys says which keys of a restored store to confirm: one, or all.
type ConfirmKeys struct {
	ID  string `json:"id,omitzero"`
	All bool   `json:"all,omitzero"`
}

// ListKeys says which keys to list.
type ListKeys struct {
	Cursor string `json:"cursor,omitzero"`
	Limit  int    `json:"limit,omitzero"`
}

// Key is a key without its secret.
type Key struct {
	ID         string      `json:"id"`
	Label      string      `json:"label"`
	State      KeyState    `json:"state"`
	Actions    []KeyAction `json:"actions"`
	Namespaces []string    `json:"namespaces"`
	CreatedAt  time.Time   `json:"createdAt,omitzero"`
	MadeBy     string      `json:"madeBy,omitzero"`
	ExpiresAt  time.Time   `json:"expiresAt,omitzero"`
	RevokedAt  time.Time   `json:"revokedAt,omitzero"`
	LastUsedAt time.Time   `json:"lastUsedAt,omitzero"`
	// OldSecretUntil is when the secret before a rotation ends.
	OldSecretUntil time.Time `json:"oldSecretUntil,omitzero"`
}

// NewKeyAnswer is a new key. The service shows APIKey only once.
type NewKeyAnswer struct {
	Key    *Key   `json:"key"`
	APIKey string `json:"apiKey"`
}

// RevokeLeakedKeyAnswer says what became of a leaked key: ResultRevoked or ResultAlreadyRevoked.
type RevokeLeakedKeyAnswer struct {
	Result Result `json:"result"`
}

// The results of a leaked key.
const (
	ResultRevoked        Result = "revoked"
	ResultAlreadyRevoked Result = "alreadyRevoked"
)

// ConfirmKeysAnswer has the ids of the keys that are confirmed now.
type ConfirmKeysAnswer struct {
	Confirmed []string `json:"confirmed"`
}

// SelfAnswer is who calls, and what the caller may do.
type SelfAnswer struct {
	Name         string      `json:"name"`
	KeyID        string      `json:"keyId,omitzero"`
	KeysRequired bool        `json:"keysRequired"`
	Actions      []KeyAction `json:"actions"`
	Namespaces   []string    `json:"namespaces"`
	ExpiresAt    time.Time   `json:"expiresAt,omitzero"`
}

type keyAnswer struct {
	Key *Key `json:"key"`
}

type listKeysAnswer struct {
	Keys       []*Key `json:"keys"`
	NextCursor string `json:"nextCursor"`
}

// Keys has the calls about who may call the service.
type Keys struct{ client *Client }

// Create makes a key. The client never repeats it after a time-out, so that there are not two.
func (k *Keys) Create(ctx context.Context, request CreateKey, options ...CallOption) (*NewKeyAnswer, error) {
	return call[NewKeyAnswer](ctx, k.client, "keys.create", request, options)
}

// Rotate gives a key a new secret. The client never repeats it after a time-out.
func (k *Keys) Rotate(ctx context.Context, request RotateKey, options ...CallOption) (*NewKeyAnswer, error) {
	return call[NewKeyAnswer](ctx, k.client, "keys.rotate", request, options)
}

// Revoke ends a key, on every node within a second.
func (k *Keys) Revoke(ctx context.Context, request RevokeKey, options ...CallOption) (*Key, error) {
	return k.one(ctx, "keys.revoke", request, options)
}

// RevokeLeaked ends a key that others have seen.
func (k *Keys) RevokeLeaked(ctx context.Context, request RevokeLeakedKey, options ...CallOption) (*RevokeLeakedKeyAnswer, error) {
	return call[RevokeLeakedKeyAnswer](ctx, k.client, "keys.revokeLeaked", request, options)
}

// Confirm confirms keys of a restored store.
func (k *Keys) Confirm(ctx context.Context, request ConfirmKeys, options ...CallOption) (*ConfirmKeysAnswer, error) {
	return call[ConfirmKeysAnswer](ctx, k.client, "keys.confirm", request, options)
}

// Get returns one key, without its secret.
func (k *Keys) Get(ctx context.Context, request GetKey, options ...CallOption) (*Key, error) {
	return k.one(ctx, "keys.get", request, options)
}

// List lists all keys, without their secrets.
func (k *Keys) List(request ListKeys, options ...CallOption) *List[*Key] {
	requestAt := func(cursor string) (any, error) { return ListKeys{cursor, request.Limit}, nil }
	pageOf := func(page *listKeysAnswer) *Page[*Key] {
		return &Page[*Key]{Items: page.Keys, NextCursor: page.NextCursor}
	}
	return listOf(k.client, "keys.list", request.Cursor, requestAt, pageOf, options)
}

// Self says who calls, and what the caller may do.
func (k *Keys) Self(ctx context.Context, options ...CallOption) (*SelfAnswer, error) {
	return call[SelfAnswer](ctx, k.client, "keys.self", struct{}{}, options)
}

func (k *Keys) one(ctx context.Context, operation string, request any, options []CallOption) (*Key, error) {
	answer, err := call[keyAnswer](ctx, k.client, operation, request, options)
	if err != nil {
		return nil, err
	}
	return answer.Key, nil
}

// CreateSession is the key to exchange for a cookie.
type CreateSession struct {
	APIKey string `json:"apiKey"`
}

// SessionAnswer is the session that began.
type SessionAnswer struct {
	Name   string    `json:"name"`
	EndsAt time.Time `json:"endsAt"`
}

// EndSessionAnswer is the session that ended.
type EndSessionAnswer struct {
	Result Result `json:"result"`
}

// ResultEnded is the result of the end of a session.
const ResultEnded Result = "ended"

// Sessions has cookies in place of keys, for pages. A program keeps them only if its HTTPClient has a cookie jar.
type Sessions struct{ client *Client }

// Create exchanges a key for a cookie.
func (s *Sessions) Create(ctx context.Context, request CreateSession, options ...CallOption) (*SessionAnswer, error) {
	return call[SessionAnswer](ctx, s.client, "sessions.create", request, options)
}

// End ends the session of the cookie.
func (s *Sessions) End(ctx context.Context, options ...CallOption) (*EndSessionAnswer, error) {
	return call[EndSessionAnswer](ctx, s.client, "sessions.end", struct{}{}, options)
}

// ListAudit says which audit records to list.
type ListAudit struct {
	Since  time.Time `json:"since,omitzero"`
	Until  time.Time `json:"until,omitzero"`
	Action string    `json:"action,omitzero"`
	Key    string    `json:"key,omitzero"`
	Cursor string    `json:"cursor,omitzero"`
	Limit  int       `json:"limit,omitzero"`
}

// AuditOutcome says whether an action was carried out.
type AuditOutcome string

// The outcomes of actions.
const (
	OutcomeDone    AuditOutcome = "done"
	OutcomeUnknown AuditOutcome = "unknown"
)

// AuditRecord is what an operator did.
type AuditRecord struct {
	ID        string                     `json:"id"`
	At        time.Time                  `json:"at"`
	Action    string                     `json:"action"`
	Outcome   AuditOutcome               `json:"outcome"`
	Caller    string                     `json:"caller"`
	KeyID     string                     `json:"keyId,omitzero"`
	Address   string                     `json:"address,omitzero"`
	RequestID string                     `json:"requestId,omitzero"`
	About     map[string]json.RawMessage `json:"about,omitzero"`
	Before    map[string]json.RawMessage `json:"before,omitzero"`
	After     map[string]json.RawMessage `json:"after,omitzero"`
	Count     int                        `json:"count,omitzero"`
}

type listAuditAnswer struct {
	Records    []*AuditRecord `json:"records"`
	Unreadable int            `json:"unreadable"`
	NextCursor string         `json:"nextCursor"`
}

// Audit has the audit trail.
type Audit struct{ client *Client }

// List lists what operators did, latest first.
func (a *Audit) List(request ListAudit, options ...CallOption) *List[*AuditRecord] {
	requestAt := func(cursor string) (any, error) {
		at := request
		at.Cursor = cursor
		return at, nil
	}
	pageOf := func(page *listAuditAnswer) *Page[*AuditRecord] {
		return &Page[*AuditRecord]{Items: page.Records, NextCursor: page.NextCursor, Unreadable: page.Unreadable}
	}
	return listOf(a.client, "audit.list", request.Cursor, requestAt, pageOf, options)
}
