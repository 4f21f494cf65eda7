package registrytest

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"github.com/rogpeppe/go-internal/lockedfile"
)

// registryVariable is the environment variable with the name of a registry of Registries, or the path of a program.
const registryVariable = "GANTRY_TEST_REGISTRY"

// A Registry is one that Start runs.
type Registry struct {
	Name string
	// Module is the module of the registry. Its version is in the module in the folder Tools of .ci/tools, from which the
	// program is built; if Tools is "", the registry is in memory, and the test serves it itself.
	Module, Tools string
	// Files reports that the registry stores files as CNCF distribution does: it has credentials, can be restarted and
	// looked into, and collects its garbage. Tests that need this are skipped with others.
	Files bool
}

// Registries are the registries that Start runs. The first one is used unless $GANTRY_TEST_REGISTRY names another.
func Registries() []Registry {
	return []Registry{
		{"distribution3", "github.com/distribution/distribution/v3", "registry", true},
		{"distribution2", "github.com/docker/distribution", "registry2", true},
		{"ociregistry", "cuelabs.dev/go/oci/ociregistry", "ociregistry", false},
		{"go-containerregistry", "github.com/google/go-containerregistry", "", false},
	}
}

// chosenRegistry returns the registry with a name, or if it is "", the one that the environment names, and the path of
// its program if the environment has that.
func chosenRegistry(name string) (r Registry, program string, err error) {
	all := Registries()
	chosen := cmp.Or(os.Getenv(registryVariable), all[0].Name)
	name = cmp.Or(name, chosen)
	if strings.ContainsRune(chosen, filepath.Separator) && (name == chosen || name == all[0].Name) {
		return all[0], chosen, nil
	}
	i := slices.IndexFunc(all, func(r Registry) bool { return r.Name == name })
	if i < 0 {
		return Registry{}, "", fmt.Errorf("no registry has the name %q", name)
	}
	return all[i], "", nil
}

// Uses reports whether $GANTRY_TEST_REGISTRY names this registry, for what its tests cannot expect of it.
func Uses(name string) bool {
	r, _, err := chosenRegistry("")
	return err == nil && r.Name == name
}

// findProgram returns the path of the program of a registry. It builds the program if necessary.
func findProgram(ctx context.Context, r Registry) (string, error) {
	p, buildErr := r.builtProgram(ctx)
	if buildErr == nil {
		return p, nil
	}
	if r == Registries()[0] {
		for _, name := range []string{"docker-registry", "registry"} {
			if p, err := exec.LookPath(name); err == nil {
				return p, nil
			}
		}
	}
	return "", fmt.Errorf("no registry to test with: %w; set %s to a CNCF distribution registry, or put docker-registry into PATH",
		buildErr, registryVariable)
}

// builtProgram returns the registry of the tools module from the cache folder. A lock ensures that
// only one of several test processes builds it.
func (r Registry) builtProgram(ctx context.Context) (string, error) {
	tools, err := toolsModule(r.Tools)
	if err != nil {
		return "", err
	}
	version, err := r.version(filepath.Join(tools, "go.mod"))
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
	program := filepath.Join(dir, r.Tools+"-"+version)
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

// toolsModule returns the folder of a tools module, above the working directory, which for a test is the folder of its
// package.
func toolsModule(name string) (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		tools := filepath.Join(dir, ".ci", "tools", name)
		if _, err := os.Stat(filepath.Join(tools, "go.mod")); err == nil {
			return tools, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", fmt.Errorf("no .ci/tools/%s above the working directory", name)
		}
		dir = up
	}
}

// version returns the version that a go.mod requires of the registry.
func (r Registry) version(goMod string) (string, error) {
	text, err := os.ReadFile(goMod)
	if err != nil {
		return "", err
	}
	m := regexp.MustCompile(`(?m)^\s*(?:require )?` + regexp.QuoteMeta(r.Module) + ` (v[0-9A-Za-z.+-]+)`).FindSubmatch(text)
	if m == nil {
		return "", fmt.Errorf("%s does not require %s", goMod, r.Module)
	}
	return string(m[1]), nil
}

func lastBytes(b []byte, n int) []byte {
	b = bytes.TrimSpace(b)
	return b[max(0, len(b)-n):]
}
