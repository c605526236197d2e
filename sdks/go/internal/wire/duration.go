package wire

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	shortForm = regexp.MustCompile(`^(?:(\d{1,15})d)?(?:(\d{1,15})h)?(?:(\d{1,15})m)?(?:(\d{1,15})s)?(?:(\d{1,15})ms)?$`)
	isoForm   = regexp.MustCompile(`^P(?:(\d{1,15})D)?(?:T(?:(\d{1,15})H)?(?:(\d{1,15})M)?(?:(\d{1,15})(?:\.(\d{1,3}))?S)?)?$`)
)

// MaxDuration is the longest duration that the service takes: ten years.
const MaxDuration = 3653 * 24 * time.Hour

var errNoDuration = errors.New("must be a duration such as 90s, 1h30m or 7d, of at most 3653 days")

// units of the five groups of both forms.
var units = [...]time.Duration{24 * time.Hour, time.Hour, time.Minute, time.Second, time.Millisecond}

// ParseDuration reads 90s, 1h30m, 250ms, 7d or PT90S.
func ParseDuration(text string) (time.Duration, error) {
	if text == "" || len(text) > 100 {
		return 0, errNoDuration
	}
	form := shortForm
	if text[0] == 'P' {
		form = isoForm
	}
	groups := form.FindStringSubmatch(text)
	if groups == nil || strings.HasSuffix(text, "P") || strings.HasSuffix(text, "T") {
		return 0, errNoDuration
	}
	var total time.Duration
	for i, unit := range units {
		digits := groups[i+1]
		if digits == "" {
			continue
		}
		if form == isoForm && unit == time.Millisecond {
			digits = (digits + "00")[:3]
		}
		count, err := strconv.ParseInt(digits, 10, 64)
		if err != nil || count > int64(MaxDuration/unit) {
			return 0, errNoDuration
		}
		total += time.Duration(count) * unit
	}
	if total > MaxDuration {
		return 0, errNoDuration
	}
	return total, nil
}

// FormatDuration writes a duration in whole milliseconds, each unit at most once: 36h becomes 1d12h.
func FormatDuration(duration time.Duration) (string, error) {
	rest := duration.Round(time.Millisecond)
	if rest < 0 || rest > MaxDuration {
		return "", errors.New("must be a duration from 0 to 3653 days")
	}
	if rest == 0 {
		return "0s", nil
	}
	var text strings.Builder
	for i, name := range [...]string{"d", "h", "m", "s", "ms"} {
		if count := rest / units[i]; count > 0 {
			fmt.Fprintf(&text, "%d%s", count, name)
			rest -= count * units[i]
		}
	}
	return text.String(), nil
}

// FormatInstant writes an instant as the service does: in UTC, with milliseconds.
func FormatInstant(instant time.Time) string {
	return instant.UTC().Format("2006-01-02T15:04:05.000Z")
}
