package punctual_test

// The module as a user gets it: packed as a proxy of modules does it, downloaded into an empty cache, and used in an empty project.

import (
	"archive/zip"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"punctual.dev/client/internal/needs"
	"punctual.dev/client/punctualtest"
)

const (
	modulePath    = "punctual.dev/client"
	moduleVersion = "v0.1.0"
)

// packed writes the files that a proxy serves for this module, and returns its folder.
func packed(t testing.TB) string {
	t.Helper()
	proxy := t.TempDir()
	versions := filepath.Join(proxy, filepath.FromSlash(modulePath), "@v")
	definition, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(definition), "module "+modulePath+"\n") {
		t.Fatalf("go.mod names another module:\n%s", definition)
	}
	writeFile(t, filepath.Join(versions, "list"), moduleVersion+"\n")
	writeFile(t, filepath.Join(versions, moduleVersion+".info"), fmt.Sprintf(`{"Version":%q}`, moduleVersion))
	writeFile(t, filepath.Join(versions, moduleVersion+".mod"), string(definition))
	archive, err := os.Create(filepath.Join(versions, moduleVersion+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close()
	writer := zip.NewWriter(archive)
	err = filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, err := writer.Create(modulePath + "@" + moduleVersion + "/" + filepath.ToSlash(path))
		if err != nil {
			return err
		}
		_, err = file.Write(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		t.Fatal(err)
	}
	return proxy
}

// usage is a program that uses every package of the module.
const usage = `package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http/httptest"
	"time"

	punctual "punctual.dev/client"
	"punctual.dev/client/punctualtest"
	"punctual.dev/client/webhook"
)

const secret = "whsec_YSBzZWNyZXQgb2YgdGhpcnR5LXR3byBieXRlcyAuLi4="

func main() {
	client, err := punctual.New(punctual.Options{Namespace: "packed"})
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	created, err := client.Timers.Create(ctx, punctual.CreateTimer{
		TimerID: punctual.AutoID, Delay: time.Hour, CallbackURL: "http://127.0.0.1:9/", Payload: map[string]int{"n": 1},
	})
	if err != nil {
		log.Fatal(err)
	}
	_, missing := client.Timers.Get(ctx, punctual.GetTimer{TimerID: "missing"})
	handler, err := webhook.NewHandler(webhook.Options{
		Secrets: []string{secret},
		Handle: func(context.Context, *webhook.Event) (*webhook.Again, error) { return nil, webhook.Dead("end") },
	})
	if err != nil {
		log.Fatal(err)
	}
	answer := httptest.NewRecorder()
	handler.ServeHTTP(answer, punctualtest.NewRequest(secret, webhook.Event{}))
	fmt.Println(created.Timer.State, errors.Is(missing, punctual.ErrNotFound), answer.Code)
}
`

func TestThePackedModuleWorksInAnEmptyProject(t *testing.T) {
	needs.Executable(t)
	proxy, project := packed(t), t.TempDir()
	environment := []string{
		"GOPROXY=file://" + filepath.ToSlash(proxy),
		"GONOSUMDB=*",
		"GOSUMDB=off",
		"GOMODCACHE=" + t.TempDir(),
		"GOFLAGS=-modcacherw -mod=mod",
		"GOWORK=off",
		"GOTOOLCHAIN=local",
	}
	runGo(t, project, environment, "mod", "init", "example.com/user")
	writeFile(t, filepath.Join(project, "main.go"), usage)
	runGo(t, project, environment, "get", modulePath+"@latest")
	runGo(t, project, environment, "vet", "./...")
	program := filepath.Join(project, "user")
	runGo(t, project, environment, "build", "-o", program, ".")
	if modules := strings.TrimSpace(runGo(t, project, environment, "list", "-m", "all")); modules !=
		"example.com/user\n"+modulePath+" "+moduleVersion {
		t.Errorf("the project has the modules %q", modules)
	}
	files := runGo(t, project, environment, "list", "-m", "-f", "{{.Dir}}", modulePath)
	for _, name := range []string{"LICENSE", "README.md", "CHANGELOG.md"} {
		if _, err := os.Stat(filepath.Join(strings.TrimSpace(files), name)); err != nil {
			t.Error(err)
		}
	}
	service := punctualtest.NewService(t, nil)
	command := exec.Command(program)
	command.Env = append(os.Environ(), "TIMER_URL="+service.URL, "TIMER_API_KEY=")
	if output, err := command.CombinedOutput(); err != nil || string(output) != "pending true 422\n" {
		t.Errorf("%v: %s", err, output)
	}
}
