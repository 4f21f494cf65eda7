package registrytest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// programVariable is the environment variable with the path of a registry program.
const programVariable = "GANTRY_TEST_REGISTRY"

// distributionModule is the module of the registry, with the version in the tools module.
const distributionModule = "github.com/distribution/distribution/v3"

// findProgram returns the path of a registry program. It builds the program if necessary.
func findProgram(ctx context.Context) (string, error) {
	if p := os.Getenv(programVariable); p != "" {
		return p, nil
	}
	p, buildErr := builtProgram(ctx)
	if buildErr == nil {
		return p, nil
	}
	for _, name := range []string{"docker-registry", "registry"} {
		if p, err := exec.LookPath(name); err == nil {
			return p, nil
		}
	}
	return "", fmt.Errorf("no registry to test with: %w; set %s to a CNCF distribution registry, or put docker-registry into PATH",
		buildErr, programVariable)
}

// builtProgram returns the registry of the tools module from the cache folder. A lock ensures that
// only one of several test processes builds it.
func builtProgram(ctx context.Context) (string, error) {
	tools, err := toolsModule()
	if err != nil {
		return "", err
	}
	version, err := pinnedVersion(filepath.Join(tools, "go.mod"))
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	dir := filepath.Join(cache, "gantry-test")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	program := filepath.Join(dir, "registry-"+version)
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	unlock, err := lockedfile.MutexAt(program + ".lock").Lock()
	if err != nil {
		return "", fmt.Errorf("locking %s: %w", program, err)
	}
	defer unlock()
	if _, err := os.Stat(program); err == nil {
		return program, nil
	}
	fresh := program + ".new"
	build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-o", fresh, ".")
	build.Dir = tools
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOOS=", "GOARCH=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the registry in %s: %w: %s", tools, err, lastBytes(out, 2000))
	}
	return program, os.Rename(fresh, program)
}

// toolsModule returns the folder of the registry's tools module, above the working directory, which
// for a test is the folder of its package.
func toolsModule() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		tools := filepath.Join(dir, ".ci", "tools", "registry")
		if _, err := os.Stat(filepath.Join(tools, "go.mod")); err == nil {
			return tools, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("no .ci/tools/registry above the working directory")
		}
		dir = up
	}
}

func pinnedVersion(goMod string) (string, error) {
	text, err := os.ReadFile(goMod)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(distributionModule) + ` (v[0-9A-Za-z.+-]+)`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s does not require %s", goMod, distributionModule)
	}
	return string(m[1]), nil
}

func lastBytes(b []byte, n int) []byte {
	b = bytes.TrimSpace(b)
	return b[max(0, len(b)-n):]
}
