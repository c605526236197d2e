package debounce_test

import (
	"context"
	"testing"
	"time"

	"punctual.dev/client/examples/debounce"
	"punctual.dev/client/internal/needs"
	"punctual.dev/client/punctualtest"
)

func TestManyChangesSaveTheDocumentOnce(t *testing.T) {
	needs.Executable(t)
	service := punctualtest.NewService(t, nil)
	receiver := service.NewReceiver(nil)
	for range 5 {
		if err := debounce.DocumentChanged(context.Background(), service.Client, "a", receiver.URL); err != nil {
			t.Fatal(err)
		}
		service.Advance(4 * time.Second)
	}
	if deliveries := receiver.Deliveries(); len(deliveries) != 0 {
		t.Errorf("saved too early: %+v", deliveries)
	}
	service.Advance(time.Second)
	deliveries := receiver.Deliveries()
	if len(deliveries) != 1 || string(deliveries[0].Payload) != `{"document":"a"}` {
		t.Errorf("saved: %+v", deliveries)
	}
}
