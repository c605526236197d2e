package punctual_test

import (
	"context"
	"errors"
	"fmt"
	"log"

	punctual "punctual.dev/client"
)

func ExampleTimers_Create() {
	client, err := punctual.New(punctual.Options{Namespace: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	created, err := client.Timers.Create(context.Background(), punctual.CreateTimer{
		TimerID:     "trial-42",
		Delay:       14 * punctual.Day,
		CallbackURL: "https://shop.example/hooks",
		Payload:     map[string]int{"customer": 42},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(created.Result, created.Timer.ExecuteAt)
}

func ExampleTimers_CreateMany() {
	client, err := punctual.New(punctual.Options{Namespace: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	items, err := client.Timers.CreateMany(context.Background(), []punctual.CreateTimer{
		{TimerID: "trial-42", Delay: 14 * punctual.Day, CallbackURL: "https://shop.example/hooks"},
		{TimerID: "trial-43", Delay: 14 * punctual.Day, CallbackURL: "https://shop.example/hooks"},
	})
	if err != nil {
		log.Fatal(err)
	}
	for i, item := range items {
		if err := item.Err(); err != nil {
			log.Printf("timer %d: %v", i, err)
		}
	}
}

func ExampleTimers_List() {
	client, err := punctual.New(punctual.Options{Namespace: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	for timer, err := range client.Timers.List(punctual.ListTimers{Tag: "trial"}).All(context.Background()) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(timer.TimerID)
	}
}

func ExampleError() {
	client, err := punctual.New(punctual.Options{Namespace: "billing"})
	if err != nil {
		log.Fatal(err)
	}
	_, err = client.Timers.Cancel(context.Background(), punctual.CancelTimer{TimerID: "trial-42", IfRevision: 7})
	var failure *punctual.Error
	switch {
	case errors.Is(err, punctual.ErrNotFound):
		fmt.Println("there is no such timer")
	case errors.As(err, &failure) && failure.Written == punctual.WrittenUnknown:
		fmt.Println("the timer may be cancelled; request", failure.RequestID)
	case err != nil:
		log.Fatal(err)
	}
}
