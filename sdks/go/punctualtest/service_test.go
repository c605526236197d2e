package punctualtest_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	punctual "punctual.dev/client"
	"punctual.dev/client/internal/needs"
	"punctual.dev/client/punctualtest"
)

// failing is a test that keeps why it fails, instead of failing.
type failing struct {
	testing.TB
	message string
}

func (f *failing) Fatalf(format string, arguments ...any) {
	f.message = fmt.Sprintf(format, arguments...)
	runtime.Goexit()
}

// whyNot returns why a service does not start.
func whyNot(t *testing.T, executable string) string {
	t.Helper()
	test := &failing{TB: t}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		punctualtest.NewService(test, &punctualtest.Options{Executable: executable})
	}()
	<-ended
	return test.message
}

func TestAServiceThatDoesNotStartSaysWhy(t *testing.T) {
	if why := whyNot(t, filepath.Join(t.TempDir(), "absent")); !strings.Contains(why, "set PUNCTUAL_EXECUTABLE") {
		t.Errorf("it says: %s", why)
	}
	script := filepath.Join(t.TempDir(), "script")
	if err := os.WriteFile(script, []byte("#!/bin/sh\necho the disk is full >&2\nexit 3\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if why := whyNot(t, script); !strings.Contains(why, "exit status 3") || !strings.Contains(why, "the disk is full") {
		t.Errorf("it says: %s", why)
	}
}

func TestTheTestMovesTheClock(t *testing.T) {
	needs.Executable(t)
	t.Setenv("TIMER_MAX_PENDING_PER_NAMESPACE", "settings of the machine do not count")
	startAt := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	service := punctualtest.NewService(t, &punctualtest.Options{StartAt: startAt, Namespace: "billing"})
	receiver := service.NewReceiver(nil)
	for i := range 3 {
		_, err := service.Client.Timers.Create(context.Background(), punctual.CreateTimer{
			TimerID:     fmt.Sprintf("timer-%d", i),
			Delay:       time.Duration(i+1) * 15 * punctual.Day,
			CallbackURL: receiver.URL + "hooks",
			Payload:     i,
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if fired := service.Advance(31 * punctual.Day); fired != 2 {
		t.Errorf("%d timers fired", fired)
	}
	if now := service.Now(); !now.Equal(startAt.Add(31 * punctual.Day)) {
		t.Errorf("the time is %s", now)
	}
	var seen []string
	for _, delivery := range receiver.Deliveries() {
		seen = append(seen, fmt.Sprint(delivery.Namespace, delivery.Path, delivery.TimerID, string(delivery.Payload)))
	}
	if want := []string{"billing/hookstimer-00", "billing/hookstimer-11"}; !slices.Equal(seen, want) {
		t.Errorf("delivered: %v", seen)
	}
}
