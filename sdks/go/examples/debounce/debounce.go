// Package debounce saves a document 5 s after the last change. Every change creates the same timer again, which moves it.
package debounce

import (
	"context"
	"time"

	punctual "punctual.dev/client"
)

// Document is the payload of the timer.
type Document struct {
	Name string `json:"document"`
}

// DocumentChanged moves the timer.
func DocumentChanged(ctx context.Context, client *punctual.Client, document, callbackURL string) error {
	_, err := client.Timers.Create(ctx, punctual.CreateTimer{
		TimerID:     "save-" + document,
		Delay:       5 * time.Second,
		CallbackURL: callbackURL,
		Payload:     Document{document},
	})
	return err
}
