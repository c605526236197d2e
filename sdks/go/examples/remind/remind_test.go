package remind_test

// Two weeks in a test: the real service, with a clock that only the test moves.

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	punctual "punctual.dev/client"
	"punctual.dev/client/examples/remind"
	"punctual.dev/client/internal/needs"
	"punctual.dev/client/punctualtest"
	"punctual.dev/client/webhook"
)

func TestACustomerWhoDoesNotPayGetsOneReminder(t *testing.T) {
	needs.Executable(t)
	ctx := context.Background()
	service := punctualtest.NewService(t, nil)
	receiver := service.NewReceiver(nil)
	for invoice := 1; invoice <= 2; invoice++ {
		if err := remind.InvoiceSent(ctx, service.Client, invoice, receiver.URL); err != nil {
			t.Fatal(err)
		}
	}

	service.Advance(10 * punctual.Day)
	if isReminded, err := remind.InvoicePaid(ctx, service.Client, 2); isReminded || err != nil {
		t.Errorf("paid after 10 days: %v, %v", isReminded, err)
	}
	service.Advance(4 * punctual.Day)

	deliveries := receiver.Deliveries()
	if len(deliveries) != 1 || string(deliveries[0].Payload) != `{"invoice":1}` {
		t.Errorf("delivered: %+v", deliveries)
	}
	if isReminded, err := remind.InvoicePaid(ctx, service.Client, 1); !isReminded || err != nil {
		t.Errorf("paid after 14 days: %v, %v", isReminded, err)
	}
}

func TestTheHandlerMailsTheCustomerOfASignedReminder(t *testing.T) {
	const secret = "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyAuLi4="
	var mailed []int
	handler, err := remind.Receive(secret, func(_ context.Context, invoice int) error {
		mailed = append(mailed, invoice)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, delivery := range []struct {
		secret, payload string
		status          int
	}{{secret, `{"invoice":7}`, http.StatusOK}, {"", `{"invoice":8}`, http.StatusUnauthorized}} {
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, punctualtest.NewRequest(delivery.secret, webhook.Event{Payload: []byte(delivery.payload)}))
		if answer.Code != delivery.status {
			t.Errorf("%s: the status is %d", delivery.payload, answer.Code)
		}
	}
	if !slices.Equal(mailed, []int{7}) {
		t.Errorf("mailed: %v", mailed)
	}
}
