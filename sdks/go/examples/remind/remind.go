// Package remind reminds a customer 14 days after an invoice, and cancels the reminder when the invoice is paid.
package remind

import (
	"context"
	"fmt"
	"net/http"

	punctual "punctual.dev/client"
	"punctual.dev/client/webhook"
)

// Reminder is the payload of the timer.
type Reminder struct {
	Invoice int `json:"invoice"`
}

// InvoiceSent arms the reminder.
func InvoiceSent(ctx context.Context, client *punctual.Client, invoice int, callbackURL string) error {
	_, err := client.Timers.Create(ctx, punctual.CreateTimer{
		TimerID:     fmt.Sprintf("remind-%d", invoice),
		Delay:       14 * punctual.Day,
		CallbackURL: callbackURL,
		Payload:     Reminder{invoice},
	})
	return err
}

// InvoicePaid cancels the reminder. It says whether the customer got, or gets, a reminder although the invoice is paid.
func InvoicePaid(ctx context.Context, client *punctual.Client, invoice int) (isReminded bool, err error) {
	answer, err := client.Timers.Cancel(ctx, punctual.CancelTimer{TimerID: fmt.Sprintf("remind-%d", invoice)})
	if err != nil {
		return false, err
	}
	return answer.Result == punctual.ResultInFlight || answer.Result == punctual.ResultAlreadyDelivered, nil
}

// Receive sends the mails.
func Receive(secret string, mail func(ctx context.Context, invoice int) error) (http.Handler, error) {
	return webhook.NewHandler(webhook.Options{
		Secrets: []string{secret},
		Handle: func(ctx context.Context, event *webhook.Event) (*webhook.Again, error) {
			var reminder Reminder
			if err := event.DecodePayload(&reminder); err != nil {
				return nil, err
			}
			return nil, mail(ctx, reminder.Invoice)
		},
	})
}
