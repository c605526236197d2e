// Package punctual is the client of Punctual, a durable timer service: it delivers a payload to your webhook at a time that you
// choose, at least once.
//
//	client, err := punctual.New(punctual.Options{Namespace: "billing"})
//	…
//	created, err := client.Timers.Create(ctx, punctual.CreateTimer{
//		TimerID:     "trial-42",
//		Delay:       14 * punctual.Day,
//		CallbackURL: "https://shop.example/hooks",
//		Payload:     map[string]int{"customer": 42},
//	})
//
// A field of a request that is zero counts as absent. A field of an answer that is zero was absent.
//
// The client repeats a call only if that is harmless, until the context ends. A failed call returns an [*Error], which says
// whether the call may have changed anything.
//
// Package webhook receives timers, and package punctualtest starts the real service with a manual clock for your tests.
package punctual
