package punctual

import (
	"context"
	"time"

	"punctual.dev/client/internal/wire"
)

// GetService says what to show of the service.
type GetService struct {
	// Settings asks for the settings in force.
	Settings bool `json:"settings,omitzero"`
}

// PauseService says why firing stops.
type PauseService struct {
	Reason string `json:"reason,omitzero"`
}

// ResumeService says how firing resumes. After a restore, FireOverdue must be given.
type ResumeService struct {
	FireOverdue bool `json:"fireOverdue,omitzero"`
}

// PauseKind says who paused the service.
type PauseKind string

// PauseAsked: an operator. PauseRestored: the service itself, after a restore.
const (
	PauseAsked    PauseKind = "asked"
	PauseRestored PauseKind = "restored"
)

// Pause says since when firing is paused, and why.
type Pause struct {
	Since  time.Time `json:"since"`
	Kind   PauseKind `json:"kind"`
	Reason string    `json:"reason,omitzero"`
}

// ServiceBuild is the program that answers.
type ServiceBuild struct {
	Version string    `json:"version"`
	Commit  string    `json:"commit,omitzero"`
	BuiltAt time.Time `json:"builtAt,omitzero"`
}

// SettingInForce is a setting of the service.
type SettingInForce struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	IsSet bool   `json:"isSet"`
}

// ServiceAnswer is the service: its time, its pause, its program.
type ServiceAnswer struct {
	Now      time.Time        `json:"now"`
	Pause    *Pause           `json:"pause,omitzero"`
	Build    *ServiceBuild    `json:"build,omitzero"`
	Settings []SettingInForce `json:"settings,omitzero"`
}

// Service has the calls about the service as a whole.
type Service struct{ client *Client }

// Get returns the time of the service, its pause and its program.
func (s *Service) Get(ctx context.Context, request GetService, options ...CallOption) (*ServiceAnswer, error) {
	return call[ServiceAnswer](ctx, s.client, "service.get", request, options)
}

// Pause stops all firing. Timers are still accepted.
func (s *Service) Pause(ctx context.Context, request PauseService, options ...CallOption) (*ServiceAnswer, error) {
	return call[ServiceAnswer](ctx, s.client, "service.pause", request, options)
}

// Resume starts firing again.
func (s *Service) Resume(ctx context.Context, request ResumeService, options ...CallOption) (*ServiceAnswer, error) {
	return call[ServiceAnswer](ctx, s.client, "service.resume", request, options)
}

// Breaker is a host that failed too often in a row.
type Breaker struct {
	Host      string `json:"host"`
	Namespace string `json:"namespace"`
	Failures  int    `json:"failures"`
	// Waiting is how many due timers wait for the host.
	Waiting int           `json:"waiting"`
	ProbeIn time.Duration `json:"probeInMs"`
}

// UnmarshalJSON reads the breaker as the service writes it.
func (b *Breaker) UnmarshalJSON(data []byte) error { return wire.Decode(data, b) }

// MarshalJSON writes the breaker as the service does.
func (b Breaker) MarshalJSON() ([]byte, error) { return wire.Encode(b) }

// ListBreakersAnswer has the open breakers of the node that answers.
type ListBreakersAnswer struct {
	Node     string    `json:"node"`
	Breakers []Breaker `json:"breakers"`
	More     bool      `json:"more,omitzero"`
}

// ResetBreakers names the host to try again.
type ResetBreakers struct {
	Host string `json:"host"`
}

// ResetBreakersAnswer says how many breakers were closed.
type ResetBreakersAnswer struct {
	Node  string `json:"node"`
	Reset int    `json:"reset"`
}

// Breakers has the calls about hosts that failed too often in a row.
type Breakers struct{ client *Client }

// List returns the open breakers of the node that answers.
func (b *Breakers) List(ctx context.Context, options ...CallOption) (*ListBreakersAnswer, error) {
	return call[ListBreakersAnswer](ctx, b.client, "breakers.list", struct{}{}, options)
}

// Reset tries a host again at once.
func (b *Breakers) Reset(ctx context.Context, request ResetBreakers, options ...CallOption) (*ResetBreakersAnswer, error) {
	return call[ResetBreakersAnswer](ctx, b.client, "breakers.reset", request, options)
}

// ClusterNode is one node of the cluster.
type ClusterNode struct {
	Node         string        `json:"node"`
	Address      string        `json:"address"`
	IsLive       bool          `json:"isLive"`
	IsLeaving    bool          `json:"isLeaving"`
	HeartbeatAge time.Duration `json:"heartbeatAgeMs"`
	Shards       int           `json:"shards"`
}

// UnmarshalJSON reads the node as the service writes it.
func (n *ClusterNode) UnmarshalJSON(data []byte) error { return wire.Decode(data, n) }

// MarshalJSON writes the node as the service does.
func (n ClusterNode) MarshalJSON() ([]byte, error) { return wire.Encode(n) }

// ClusterShard is one shard, and who fires it.
type ClusterShard struct {
	Shard int    `json:"shard"`
	Owner string `json:"owner,omitzero"`
	Epoch int64  `json:"epoch"`
	// Lag is how long the earliest due timer has waited; nil if the owner did not answer.
	Lag *time.Duration `json:"lagMs,omitzero"`
}

// UnmarshalJSON reads the shard as the service writes it.
func (s *ClusterShard) UnmarshalJSON(data []byte) error { return wire.Decode(data, s) }

// MarshalJSON writes the shard as the service does.
func (s ClusterShard) MarshalJSON() ([]byte, error) { return wire.Encode(s) }

// ClusterAnswer has the nodes and shards, as the node that answers sees them.
type ClusterAnswer struct {
	Node   string         `json:"node"`
	Nodes  []ClusterNode  `json:"nodes"`
	Shards []ClusterShard `json:"shards"`
	// ClockOffset is how far the clock of this node is ahead of that of the database.
	ClockOffset time.Duration `json:"clockOffsetMs,omitzero"`
}

// UnmarshalJSON reads the answer as the service writes it.
func (a *ClusterAnswer) UnmarshalJSON(data []byte) error { return wire.Decode(data, a) }

// MarshalJSON writes the answer as the service does.
func (a ClusterAnswer) MarshalJSON() ([]byte, error) { return wire.Encode(a) }

// Cluster has the call about nodes and shards.
type Cluster struct{ client *Client }

// Get returns the nodes and their shards.
func (c *Cluster) Get(ctx context.Context, options ...CallOption) (*ClusterAnswer, error) {
	return call[ClusterAnswer](ctx, c.client, "cluster.cluster", struct{}{}, options)
}

// AdvanceClock says how far to move a manual clock: By a duration, or To an instant.
type AdvanceClock struct {
	By         time.Duration `json:"by,omitzero"`
	To         time.Time     `json:"to,omitzero"`
	MaxFirings int           `json:"maxFirings,omitzero"`
}

// AdvanceClockAnswer has the new time, and how many timers fired on the way. With More, call again with the same instant.
type AdvanceClockAnswer struct {
	Now   time.Time `json:"now"`
	Fired int       `json:"fired"`
	More  bool      `json:"more,omitzero"`
}

// Clock has the call about a manual clock.
type Clock struct{ client *Client }

// Advance moves a manual clock. All timers that become due on the way fire before it returns.
func (c *Clock) Advance(ctx context.Context, request AdvanceClock, options ...CallOption) (*AdvanceClockAnswer, error) {
	return call[AdvanceClockAnswer](ctx, c.client, "clock.advance", request, options)
}

// CheckEgress is a URL that a timer might call.
type CheckEgress struct {
	URL string `json:"url"`
}

// Verdict says whether the service may call a URL.
type Verdict string

// The verdicts. VerdictUnknown: the name of the host has no address now.
const (
	VerdictAllowed Verdict = "allowed"
	VerdictRefused Verdict = "refused"
	VerdictUnknown Verdict = "unknown"
)

// JudgedAddress says whether the service may call one address.
type JudgedAddress struct {
	Address string `json:"address"`
	Allowed bool   `json:"allowed"`
	// Entry is the rule that decided.
	Entry string `json:"entry,omitzero"`
}

// CheckEgressAnswer says whether the service may call a URL, and why.
type CheckEgressAnswer struct {
	Allowed   bool            `json:"allowed"`
	Verdict   Verdict         `json:"verdict"`
	Entry     string          `json:"entry,omitzero"`
	Reason    string          `json:"reason"`
	Addresses []JudgedAddress `json:"addresses"`
}

// Egress has the call about the rules for outgoing calls.
type Egress struct{ client *Client }

// Check says whether the service may call a URL, and why.
func (e *Egress) Check(ctx context.Context, request CheckEgress, options ...CallOption) (*CheckEgressAnswer, error) {
	return call[CheckEgressAnswer](ctx, e.client, "egress.check", request, options)
}
