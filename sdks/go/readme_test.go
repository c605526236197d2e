package punctual_test

// Runs every block of README.md: programs against a real service, with what they print, and tests.

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"punctual.dev/client/internal/needs"
	"punctual.dev/client/punctualtest"
)

// block is a program or a test of README.md. A program has the output that the document shows.
type block struct {
	code   string
	output string
	isTest bool
}

var (
	fenced      = regexp.MustCompile("(?s)(?:<!-- ([^\n]*) -->\n)?```(\\w*)\n(.*?)```\n")
	packageName = regexp.MustCompile(`^package (\w+)`)
)

func blocksOf(t testing.TB, path string) []block {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var blocks []block
	for _, match := range fenced.FindAllStringSubmatch(string(text), -1) {
		note, language, body := match[1], match[2], match[3]
		switch {
		case language == "go":
			name := packageName.FindStringSubmatch(body)
			if name == nil {
				t.Fatalf("a block is no whole file:\n%s", body)
			}
			blocks = append(blocks, block{code: body, isTest: name[1] != "main"})
		case language == "text" && note == "printed by: the program above":
			blocks[len(blocks)-1].output = body
		default:
			t.Errorf("no test runs this block:\n%s", body)
		}
	}
	return blocks
}

// runGo runs a command of Go, and returns what it prints.
func runGo(t testing.TB, folder string, environment []string, arguments ...string) string {
	t.Helper()
	command := exec.Command("go", arguments...)
	command.Dir = folder
	command.Env = append(os.Environ(), environment...)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(arguments, " "), err, output)
	}
	return string(output)
}

func writeFile(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestEveryBlockOfTheReadmeRuns(t *testing.T) {
	needs.Executable(t)
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	writeFile(t, filepath.Join(folder, "go.mod"), fmt.Sprintf(
		"module readme\n\ngo 1.23\n\nrequire punctual.dev/client v0.0.0\n\nreplace punctual.dev/client => %s\n", here))
	blocks := blocksOf(t, "README.md")
	for i, block := range blocks {
		file := "main.go"
		if block.isTest {
			file = "readme_test.go"
		}
		writeFile(t, filepath.Join(folder, fmt.Sprintf("block%d", i), file), block.code)
		formatted := exec.Command("gofmt", "-l", filepath.Join(folder, fmt.Sprintf("block%d", i)))
		if output, err := formatted.CombinedOutput(); err != nil || len(output) > 0 {
			t.Errorf("gofmt changes block %d: %v\n%s", i, err, block.code)
		}
	}
	runGo(t, folder, nil, "vet", "./...")
	programs := filepath.Join(folder, "programs") + string(filepath.Separator)
	if err := os.Mkdir(programs, 0o755); err != nil {
		t.Fatal(err)
	}
	runGo(t, folder, nil, "build", "-o", programs, "./...")
	service := punctualtest.NewService(t, nil)
	for i, block := range blocks {
		t.Run(fmt.Sprintf("block %d", i), func(t *testing.T) {
			name := fmt.Sprintf("block%d", i)
			if block.isTest {
				runGo(t, folder, nil, "test", "./"+name)
				return
			}
			program := exec.Command(filepath.Join(programs, name))
			program.Env = append(os.Environ(), "TIMER_URL="+service.URL, "TIMER_API_KEY=")
			output, err := program.CombinedOutput()
			if err != nil || string(output) != block.output {
				t.Errorf("%v\ngot  %q\nwant %q", err, output, block.output)
			}
		})
	}
}
