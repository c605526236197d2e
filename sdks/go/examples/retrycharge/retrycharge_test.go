package retrycharge_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	punctual "punctual.dev/client"
	"punctual.dev/client/examples/retrycharge"
	"punctual.dev/client/internal/needs"
	"punctual.dev/client/punctualtest"
)

func TestTheBankIsAskedAfter1And3And7DaysAndThenTheTimerIsDead(t *testing.T) {
	needs.Executable(t)
	const secret = "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyAuLi4="
	ctx := context.Background()
	service := punctualtest.NewService(t, nil)
	secrets := []punctual.WebhookSecret{{Secret: secret}}
	if _, err := service.Client.Namespaces.Put(ctx, punctual.PutNamespace{WebhookSecrets: secrets}); err != nil {
		t.Fatal(err)
	}
	handler, err := retrycharge.Receive(secret, func(context.Context, int) (bool, error) { return false, nil })
	if err != nil {
		t.Fatal(err)
	}
	receiver := service.NewReceiver(handler)
	_, err = service.Client.Timers.Create(ctx, punctual.CreateTimer{
		TimerID:     "charge-42",
		Delay:       time.Second,
		CallbackURL: receiver.URL,
		Payload:     retrycharge.Charge{Customer: 42},
	})
	if err != nil {
		t.Fatal(err)
	}
	service.Advance(30 * punctual.Day)

	var days []int
	deliveries := receiver.Deliveries()
	for _, delivery := range deliveries {
		days = append(days, int(delivery.FiredAt.Sub(deliveries[0].FiredAt).Round(time.Hour)/punctual.Day))
	}
	if !slices.Equal(days, []int{0, 1, 4, 11}) {
		t.Errorf("the bank is asked on the days %v", days)
	}
	timer, err := service.Client.Timers.Get(ctx, punctual.GetTimer{TimerID: "charge-42"})
	if err != nil {
		t.Fatal(err)
	}
	var charge retrycharge.Charge
	if err := timer.DecodePayload(&charge); err != nil || charge.Refusals != 3 {
		t.Errorf("the payload is %+v: %v", charge, err)
	}
	if timer.State != punctual.StateDead || timer.Reason != punctual.ReasonRefused {
		t.Errorf("the timer is %s (%s)", timer.State, timer.Reason)
	}
	if !strings.Contains(timer.LastAttempt.Answer, "the bank refused 4 times") {
		t.Errorf("the last answer is %s", timer.LastAttempt.Answer)
	}
}
