package punctual

// The conformance cases about lists and durations.

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"punctual.dev/client/internal/conformance"
	"punctual.dev/client/internal/wire"
)

func TestPaging(t *testing.T) {
	type pagingCase struct {
		Name      string          `json:"name"`
		Call      string          `json:"call"`
		Request   json.RawMessage `json:"request"`
		Pages     []string        `json:"pages"`
		Cursors   []*string       `json:"cursors"`
		IDs       []string        `json:"ids"`
		StopAfter int             `json:"stopAfter"`
		Limit     int             `json:"limit"`
		Fails     bool            `json:"fails"`
	}
	ctx := context.Background()
	for _, c := range conformance.Cases[pagingCase](t, "paging") {
		t.Run(c.Name, func(t *testing.T) {
			var tries []scriptedTry
			for _, page := range c.Pages {
				tries = append(tries, scriptedTry{Body: &page})
			}
			script := newScripted(t, tries, Options{Namespace: "billing"})
			var list *List[*Timer]
			switch c.Call {
			case "timers.list":
				list = script.client.Timers.List(requestOf[ListTimers](t, c.Request))
			case "timers.lives":
				list = script.client.Timers.Lives(requestOf[ListLives](t, c.Request))
			default:
				t.Fatalf("the runner has no list %s", c.Call)
			}
			var ids []string
			var failure error
			if c.Limit > 0 {
				timers, err := list.Collect(ctx, c.Limit)
				failure = err
				for _, timer := range timers {
					ids = append(ids, timer.TimerID)
				}
			} else {
				for timer, err := range list.All(ctx) {
					if failure = err; err != nil {
						break
					}
					if ids = append(ids, timer.TimerID); len(ids) == c.StopAfter {
						break
					}
				}
			}
			if c.Fails != (failure != nil) || c.Fails && !strings.Contains(failure.Error(), "same cursor") {
				t.Fatal(failure)
			}
			if !c.Fails && !slices.Equal(ids, c.IDs) {
				t.Errorf("the ids are %v, want %v", ids, c.IDs)
			}
			if len(script.sent) != len(c.Cursors) {
				t.Fatalf("the client read %d pages, want %d", len(script.sent), len(c.Cursors))
			}
			for i, sent := range script.sent {
				var fields struct{ Cursor *string }
				if err := json.Unmarshal(sent.body, &fields); err != nil || !reflect.DeepEqual(fields.Cursor, c.Cursors[i]) {
					t.Errorf("page %d is read with %s", i, sent.body)
				}
			}
		})
	}
}

func TestDurations(t *testing.T) {
	type durationCase struct {
		Text string `json:"text"`
		Ms   *int64 `json:"ms"`
	}
	for _, c := range conformance.Cases[durationCase](t, "durations") {
		duration, err := ParseDuration(c.Text)
		if (c.Ms == nil) != (err != nil) || c.Ms != nil && duration.Milliseconds() != *c.Ms {
			t.Errorf("%q is %v, %v", c.Text, duration, err)
		}
		if c.Ms == nil {
			continue
		}
		text, err := wire.FormatDuration(duration)
		if again, parsed := ParseDuration(text); err != nil || parsed != nil || again != duration {
			t.Errorf("%q is written as %q, which is %v", c.Text, text, again)
		}
	}
}
