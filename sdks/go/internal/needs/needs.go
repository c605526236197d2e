// Package needs skips tests that need more than this module: the program of the service, or the harness of the repository
// (sdks/harness/README.md). In CI a missing one is a failure.
package needs

import (
	"os"
	"os/exec"
	"testing"
)

// Executable skips the test if there is no service to start.
func Executable(t testing.TB) {
	t.Helper()
	if os.Getenv("PUNCTUAL_EXECUTABLE") != "" {
		return
	}
	if _, err := exec.LookPath("punctual"); err != nil {
		missing(t, "there is no program punctual: set PUNCTUAL_EXECUTABLE, or put it on the PATH")
	}
}

// Harness returns the URL of the harness, or skips the test.
func Harness(t testing.TB) string {
	t.Helper()
	url := os.Getenv("PUNCTUAL_HARNESS")
	if url == "" {
		missing(t, "there is no harness: npm run test:clients sets PUNCTUAL_HARNESS")
	}
	return url
}

func missing(t testing.TB, what string) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatal(what)
	}
	t.Skip(what)
}
