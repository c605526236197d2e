package punctual

import (
	"encoding/json"
	"math"
	"time"
)

// Which calls the client repeats by itself. A repeat must be harmless even if the first request was carried out, so the
// answer depends on the call and on its fields. sdks/conformance/retries.json has the same table for all languages, and a test
// compares the two.

// repeatClass says what a repeat of a call would do.
type repeatClass string

const (
	// repeatRead: the call changes nothing.
	repeatRead repeatClass = "read"
	// repeatSame: a repeat has the same effect as one request.
	repeatSame repeatClass = "same"
	// repeatNever: a repeat could do more than one request. The client repeats it only if nothing was carried out.
	repeatNever repeatClass = "never"
)

// repeatRule is a class, with the conditions for it. If they do not hold, the class is never.
type repeatRule struct {
	as repeatClass
	// with: fields that the request must have.
	with []string
	// where: fields that must have this JSON value.
	where map[string]string
	// without: fields that must not have this JSON value.
	without map[string]string
	// each: every item of this field must be same, as a request of the operation like.
	each, like string
}

var repeatRules = map[string]repeatRule{
	"timers.create": {
		as: repeatSame, with: []string{"timerId", "executeAt"}, without: map[string]string{"onExisting": `"fail"`},
	},
	"timers.createMany": {as: repeatSame, each: "timers", like: "timers.create"},
	"timers.get":        {as: repeatRead},
	"timers.update":     {as: repeatSame, with: []string{"ifRevision"}},
	"timers.delete":     {as: repeatSame},
	"timers.deleteMany": {as: repeatNever},
	"timers.list":       {as: repeatRead},
	"timers.count":      {as: repeatRead},
	"timers.histogram":  {as: repeatRead},
	"timers.lives":      {as: repeatRead},
	"timers.activity":   {as: repeatRead},
	"timers.replay":     {as: repeatRead, where: map[string]string{"dryRun": "true"}},
	"timers.discard":    {as: repeatRead, where: map[string]string{"dryRun": "true"}},
	"bulk.start":        {as: repeatNever},
	"bulk.get":          {as: repeatRead},
	"bulk.list":         {as: repeatRead},
	"bulk.abort":        {as: repeatSame},
	"cluster.cluster":   {as: repeatRead},
	"clock.advance":     {as: repeatSame, with: []string{"to"}},
	"namespaces.put":    {as: repeatSame},
	"namespaces.get":    {as: repeatRead},
	"namespaces.list":   {as: repeatRead},
	"service.get":       {as: repeatRead},
	"service.pause":     {as: repeatSame},
	"service.resume":    {as: repeatSame},
	"breakers.list":     {as: repeatRead},
	"breakers.reset":    {as: repeatSame},
	"egress.check":      {as: repeatRead},
	"messages.list":     {as: repeatRead},
	"messages.get":      {as: repeatRead},
	"messages.replay":   {as: repeatNever},
	"messages.discard":  {as: repeatNever},
	"keys.create":       {as: repeatNever},
	"keys.rotate":       {as: repeatNever},
	"keys.revoke":       {as: repeatSame},
	"keys.revokeLeaked": {as: repeatSame},
	"keys.confirm":      {as: repeatSame},
	"keys.get":          {as: repeatRead},
	"keys.list":         {as: repeatRead},
	"keys.self":         {as: repeatRead},
	"sessions.create":   {as: repeatNever},
	"sessions.end":      {as: repeatSame},
	"audit.list":        {as: repeatRead},
	"events.stream":     {as: repeatRead},
}

// repeatClassOf looks at the fields of a request, as they are sent. Calls that this version does not know are never repeated
// after an unknown outcome.
func repeatClassOf(operation string, body []byte) repeatClass {
	rule, isKnown := repeatRules[operation]
	if !isKnown {
		return repeatNever
	}
	if rule.with == nil && rule.where == nil && rule.without == nil && rule.each == "" {
		return rule.as
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || !rule.holds(fields) {
		return repeatNever
	}
	return rule.as
}

func (rule repeatRule) holds(fields map[string]json.RawMessage) bool {
	for _, name := range rule.with {
		if _, isThere := fields[name]; !isThere {
			return false
		}
	}
	for name, value := range rule.where {
		if string(fields[name]) != value {
			return false
		}
	}
	for name, value := range rule.without {
		if string(fields[name]) == value {
			return false
		}
	}
	if rule.each == "" {
		return true
	}
	var items []json.RawMessage
	if json.Unmarshal(fields[rule.each], &items) != nil {
		return false
	}
	for _, item := range items {
		if repeatClassOf(rule.like, item) != repeatSame {
			return false
		}
	}
	return true
}

// How long the client waits between tries.
const (
	firstWait      = 250 * time.Millisecond
	waitMultiplier = 2
	// mostGrownWait: the waits do not grow beyond this.
	mostGrownWait = 8 * time.Second
	// waitJitter is the part of each wait that is random.
	waitJitter = 0.5
	// longestWait: if the service asks for a longer wait, the call fails instead, and RetryAfter says how long.
	longestWait = time.Minute
)

// waitBefore is the wait before the n-th repeat. It is false if the wait would be too long. random is from 0 to 1.
func waitBefore(repeat int, retryAfter time.Duration, random float64) (time.Duration, bool) {
	grown := math.Min(float64(firstWait)*math.Pow(waitMultiplier, float64(repeat-1)), float64(mostGrownWait))
	own := time.Duration(grown * (1 - waitJitter*random))
	wait := max(own, retryAfter).Round(time.Millisecond)
	return wait, wait <= longestWait
}
