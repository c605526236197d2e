// Package retrycharge charges a card. If the bank refuses, it tries again after 1, 3 and 7 days, and then gives up. The timer arms itself
// again, and its payload remembers how often the bank has refused.
package retrycharge

import (
	"context"
	"fmt"
	"net/http"
	"time"

	punctual "punctual.dev/client"
	"punctual.dev/client/webhook"
)

// Charge is the payload of the timer.
type Charge struct {
	Customer int `json:"customer"`
	Refusals int `json:"refusals"`
}

var waits = []time.Duration{punctual.Day, 3 * punctual.Day, 7 * punctual.Day}

// Receive asks the bank.
func Receive(secret string, charge func(ctx context.Context, customer int) (isPaid bool, err error)) (http.Handler, error) {
	return webhook.NewHandler(webhook.Options{
		Secrets: []string{secret},
		Handle: func(ctx context.Context, event *webhook.Event) (*webhook.Again, error) {
			var due Charge
			if err := event.DecodePayload(&due); err != nil {
				return nil, webhook.Dead("the timer has no charge")
			}
			isPaid, err := charge(ctx, due.Customer)
			if err != nil || isPaid {
				return nil, err
			}
			if due.Refusals == len(waits) {
				return nil, webhook.Dead(fmt.Sprintf("the bank refused %d times", due.Refusals+1))
			}
			wait := waits[due.Refusals]
			due.Refusals++
			return &webhook.Again{Delay: wait, Payload: due}, nil
		},
	})
}
