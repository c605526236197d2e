package punctual

import (
	"context"
	"errors"
	"iter"
)

// List is a list that the service answers in pages. Nothing is sent before you read it.
//
//	for timer, err := range client.Timers.List(punctual.ListTimers{Tag: "trial"}).All(ctx) { … }
type List[T any] struct {
	first string
	read  func(ctx context.Context, cursor string) (*Page[T], error)
}

// Page is a part of a list.
type Page[T any] struct {
	Items []T
	// NextCursor is where the next page begins. It is empty on the last page. A page without items can have one.
	NextCursor string
	// Examined is how many timers the service looked at for this page, if it says so.
	Examined int
	// Unreadable is how many audit records of this page are damaged.
	Unreadable int
}

// All reads all items, page by page. If reading fails, the error is the last pair.
func (l *List[T]) All(ctx context.Context) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page, err := range l.pages(ctx) {
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, item := range page.Items {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// Page reads one page: that at the cursor, or the first one if the cursor is empty.
func (l *List[T]) Page(ctx context.Context, cursor string) (*Page[T], error) {
	if cursor == "" {
		cursor = l.first
	}
	return l.read(ctx, cursor)
}

// Collect reads the first items of the list, at most limit of them.
func (l *List[T]) Collect(ctx context.Context, limit int) ([]T, error) {
	if limit < 1 {
		return nil, refused("limit", "must be at least 1")
	}
	var items []T
	for page, err := range l.pages(ctx) {
		if err != nil {
			return nil, err
		}
		items = append(items, page.Items[:min(len(page.Items), limit-len(items))]...)
		if len(items) == limit {
			break
		}
	}
	return items, nil
}

func (l *List[T]) pages(ctx context.Context) iter.Seq2[*Page[T], error] {
	return func(yield func(*Page[T], error) bool) {
		for cursor := l.first; ; {
			page, err := l.read(ctx, cursor)
			if !yield(page, err) || err != nil || page.NextCursor == "" {
				return
			}
			if page.NextCursor == cursor {
				yield(nil, errors.New("punctual: the service answered the same cursor again: the list would not end"))
				return
			}
			cursor = page.NextCursor
		}
	}
}

// listOf makes the list that an operation answers in pages.
func listOf[T, Answer any](
	client *Client,
	operation string,
	first string,
	requestAt func(cursor string) (any, error),
	pageOf func(*Answer) *Page[T],
	options []CallOption,
) *List[T] {
	read := func(ctx context.Context, cursor string) (*Page[T], error) {
		request, err := requestAt(cursor)
		if err != nil {
			return nil, err
		}
		answer, err := call[Answer](ctx, client, operation, request, options)
		if err != nil {
			return nil, err
		}
		return pageOf(answer), nil
	}
	return &List[T]{first: first, read: read}
}
