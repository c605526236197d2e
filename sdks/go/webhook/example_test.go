package webhook_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	punctual "punctual.dev/client"
	"punctual.dev/client/punctualtest"
	"punctual.dev/client/webhook"
)

func ExampleNewHandler() {
	const secret = "whsec_b25seSBmb3IgdGhpcyBleGFtcGxlOiAzMiBieXRlcy4="
	handler, err := webhook.NewHandler(webhook.Options{
		Secrets: []string{secret},
		Handle: func(_ context.Context, event *webhook.Event) (*webhook.Again, error) {
			fmt.Println("fired:", event.TimerID)
			return &webhook.Again{Delay: punctual.Day}, nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, punctualtest.NewRequest(secret, webhook.Event{TimerID: "trial-42"}))
	fmt.Println(answer.Code, answer.Body)
	// Output:
	// fired: trial-42
	// 200 {"ok":true,"nextDelay":"1d"}
}
