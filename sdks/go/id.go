package punctual

import (
	"crypto/rand"
	"encoding/hex"
	"time"

	"punctual.dev/client/internal/wire"
)

// AutoID as the id of a new timer lets the client make one, a UUID v7. An empty id is refused, because it may come from an unset
// variable. Each call makes another id: if your program repeats failed creates itself, give it an id of your own.
const AutoID = "\x00auto"

// Day is 24 hours, for delays: 14 * punctual.Day.
const Day = 24 * time.Hour

// ParseDuration reads a duration in the words of the service: 250ms, 90s, 1h30m, 7d, or ISO 8601 such as PT90S. There are no
// months and no years.
func ParseDuration(text string) (time.Duration, error) {
	duration, err := wire.ParseDuration(text)
	if err != nil {
		return 0, refused("duration", err.Error())
	}
	return duration, nil
}

// Ptr makes a pointer, for fields whose zero value means something: Paused: punctual.Ptr(false).
func Ptr[T any](value T) *T { return &value }

// newTimerID makes a UUID v7: 48 bits of time and 74 random bits. Such ids sort by their time.
func newTimerID(now time.Time) (string, error) {
	var id [16]byte
	if _, err := rand.Read(id[:]); err != nil {
		return "", refused("timerId", "cannot be made: the system has no randomness: "+err.Error())
	}
	milliseconds := now.UnixMilli()
	for i := range 6 {
		id[i] = byte(milliseconds >> (40 - 8*i))
	}
	id[6] = 0x70 | id[6]&0x0f
	id[8] = 0x80 | id[8]&0x3f
	text := hex.EncodeToString(id[:])
	return text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:], nil
}
