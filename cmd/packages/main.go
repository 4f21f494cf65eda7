// Command packages makes the files of a release from programs that are built: make release.
//
// For each platform, these are an archive and the bills of materials of its programs; for Linux also a deb and
// an rpm with the units for systemd, and all images as one archive. A Homebrew formula and a krew manifest name the
// archives. SHA256SUMS has the checksums of all files, and may be signed with an SSH key. Nothing is downloaded. The
// same programs, time and version give the same files.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/Masterminds/semver/v3"

	"github.com/gantry-mirror/gantry/pkg/signature/sshsig"
)

const homepage = "https://github.com/gantry-mirror/gantry"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "packages:", err)
		os.Exit(1)
	}
}

// A release is what the files are made of.
type release struct {
	version    string // v1.2.3
	revision   string // the commit, or ""
	maintainer string
	platforms  []platform
	programs   string // the folder with the programs of each platform
	source     string // the folder of the repository
	manuals    string // the folder with manual pages
	shells     string // the folder with completions
	image      string // the OCI image layout, or ""
	only       string // write only the licenses, to this file
	license    map[string]license
	baseURL    string // where the files will be, without a slash at the end
	modified   time.Time
	to         string      // the folder that is written
	key        *sshsig.Key // nil if the checksums are not signed
}

// number returns the version without the letter.
func (r *release) number() string { return strings.TrimPrefix(r.version, "v") }

// A platform is an operating system and an architecture by Go's names.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "-" + p.arch }

// program returns the name of a program's file.
func (p platform) program(name string) string {
	if p.os == "windows" {
		return name + ".exe"
	}
	return name
}

// run makes the release that the arguments describe, and prints its files.
func run(ctx context.Context, args []string) error {
	r, check, err := parse(ctx, args)
	if err != nil || check {
		return err
	}
	if r.license, err = r.licenses(ctx); err != nil {
		return fmt.Errorf("collecting licenses: %w", err)
	}
	if r.only != "" {
		return os.WriteFile(r.only, notices(r.license), 0o644)
	}
	// The release is complete, or the one before stays.
	final := r.to
	r.to += ".new"
	if err := replaceable(final); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(r.to), os.MkdirAll(r.to, 0o755)); err != nil {
		return err
	}
	if err := r.write(ctx); err != nil {
		return err
	}
	if err := errors.Join(os.RemoveAll(final), os.Rename(r.to, final)); err != nil {
		return err
	}
	r.to = final
	return r.list(os.Stdout)
}

// parse reads the arguments. With -check, these are only checked.
func parse(ctx context.Context, args []string) (r *release, check bool, err error) {
	r = &release{}
	flags := flag.NewFlagSet("packages", flag.ContinueOnError)
	var platforms, key string
	flags.StringVar(&r.version, "version", "", "the `VERSION`, such as v1.2.3")
	flags.StringVar(&r.revision, "revision", "", "the `COMMIT` that the bills of materials name")
	flags.StringVar(&r.maintainer, "maintainer", "", "the `NAME <ADDRESS>` that deb and rpm name")
	flags.StringVar(&platforms, "platforms", "", "the `PLATFORMS`, such as linux/amd64, separated by commas")
	flags.StringVar(&r.programs, "programs", "bin/programs", "the folder with the programs of each platform, as `DIR`/OS-ARCH/gantry")
	flags.StringVar(&r.source, "source", ".", "the `DIR` of the repository")
	flags.StringVar(&r.manuals, "man", "bin/man", "the `DIR` with manual pages")
	flags.StringVar(&r.shells, "completions", "bin/completions", "the `DIR` with completions")
	flags.StringVar(&r.image, "image", "", "the `DIR` of the OCI image layout that the release contains")
	flags.StringVar(&r.baseURL, "base-url", "", "the `URL` below which the files will be (default: the release on the forge)")
	flags.StringVar(&key, "key", "", "sign the checksums with this SSH key: the `FILE` of a private key, or of a public key (.pub) of ssh-agent")
	flags.StringVar(&r.to, "to", "bin/release", "the `DIR` that is written")
	flags.StringVar(&r.only, "licenses", "", "write the licenses of what the programs contain to this `FILE`, and nothing else")
	flags.BoolVar(&check, "check", false, "only check the version, the platforms, the address and the key")
	if err := flags.Parse(args); err != nil {
		return nil, false, err
	}
	if flags.NArg() > 0 {
		return nil, false, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if _, err := semver.StrictNewVersion(r.number()); r.only == "" && (err != nil || !strings.HasPrefix(r.version, "v")) {
		return nil, false, fmt.Errorf("the version is %q; write one such as VERSION=v1.2.3 or VERSION=v1.2.3-rc.1", r.version)
	}
	if r.platforms, err = parsePlatforms(platforms); err != nil {
		return nil, false, err
	}
	if r.baseURL == "" {
		r.baseURL = homepage + "/releases/download/" + r.version
	}
	if u, err := url.Parse(r.baseURL); err != nil || u.Scheme == "" || strings.ContainsAny(r.baseURL, "\"'\\\n ") {
		return nil, false, fmt.Errorf("the address of the files is %q; write one such as BASE_URL=https://files.example.com/gantry", r.baseURL)
	}
	r.baseURL = strings.TrimSuffix(r.baseURL, "/")
	if r.modified, err = sourceDate(os.Getenv("SOURCE_DATE_EPOCH")); err != nil {
		return nil, false, err
	}
	r.key, err = openKey(ctx, key)
	return r, check, err
}

// supported are the platforms that releases may have.
var supported = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"linux", "ppc64le"}, {"linux", "s390x"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"},
}

// parsePlatforms returns the platforms of a list, in the order of supported.
func parsePlatforms(list string) (all []platform, err error) {
	wanted := map[string]bool{}
	for _, name := range strings.Split(list, ",") {
		wanted[strings.TrimSpace(name)] = true
	}
	var names []string
	for _, p := range supported {
		name := p.os + "/" + p.arch
		names = append(names, name)
		if wanted[name] {
			all = append(all, p)
			delete(wanted, name)
		}
	}
	for name := range wanted {
		return nil, fmt.Errorf("the platform %q is not one of %s", name, strings.Join(names, ", "))
	}
	return all, nil
}

// sourceDate returns the time of SOURCE_DATE_EPOCH in seconds, which all files have.
func sourceDate(seconds string) (time.Time, error) {
	n, err := strconv.ParseInt(seconds, 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH is %q, not a number of seconds; it is the time of all files", seconds)
	}
	return time.Unix(n, 0).UTC(), nil
}

// replaceable returns an error if a folder is neither a release nor empty.
func replaceable(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if _, err := os.Stat(filepath.Join(dir, sumsFile)); err != nil && len(entries) > 0 {
		return fmt.Errorf("%s is not a release, and is not replaced", dir)
	}
	return nil
}

// write writes all files.
func (r *release) write(ctx context.Context) error {
	sums := map[platform]string{}
	for _, p := range r.platforms {
		c, err := r.contents(p)
		if err != nil {
			return fmt.Errorf("packing %s: %w", p, err)
		}
		if sums[p], err = r.writeArchive(p, c); err != nil {
			return fmt.Errorf("packing %s: %w", p, err)
		}
		if p.os == "linux" {
			if err := r.writePackages(p, c); err != nil {
				return fmt.Errorf("packing %s: %w", p, err)
			}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
	}
	if r.image != "" {
		if err := r.writeImage(); err != nil {
			return fmt.Errorf("packing the container image: %w", err)
		}
	}
	if err := r.writeManifests(sums); err != nil {
		return err
	}
	return r.writeSums(ctx)
}
