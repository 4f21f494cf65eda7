package imageset

import (
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/gantry-mirror/gantry/pkg/advice/redact"
	"github.com/gantry-mirror/gantry/pkg/reference/fileartifact"
)

// A File is a file that is mirrored as it is (mirror.files[]). Either URL or Path is set.
type File struct {
	Pos Position
	// URL is an http or https address. Path is a file, as written; a relative path is relative to the
	// working directory.
	URL, Path string
	// SHA256 is the expected checksum in hexadecimal; "" only with Path.
	SHA256 string
	// Target is the name of the file in the mirror. It is set when a configuration was read.
	Target string
	// Executable is set for a program. The mode of a local file also says so.
	Executable bool
}

func fileObject() object[File] {
	return object[File]{
		fields: []field[File]{
			text("url", "The http or https address of the file.", func(f *File) *string { return &f.URL }, fileAddress()),
			text("path", "The path of the file, relative to the working directory.", func(f *File) *string { return &f.Path }, grammar{}),
			text("sha256", "The SHA-256 of the file in hexadecimal. It is required with url.", func(f *File) *string { return &f.SHA256 }, checksum()),
			text("target", "The name of the file in the mirror, which may have folders; the last part of url or path if omitted.",
				func(f *File) *string { return &f.Target }, grammar{check: checkFileName, spaces: true}),
			flag("executable", "Set to true if the file is a program; a file with path is one if its mode says so.", func(f *File) *bool { return &f.Executable }),
		},
		removed: map[string]string{
			"digest": "write the hexadecimal digits as sha256", "checksum": "write it as sha256",
			"name": "write it as target", "source": "write it as url or path",
		},
		check: checkFile,
	}
}

// checkFile checks an entry of files, and sets its target.
func checkFile(r *reader, at string, f *File) {
	if _, wrong := r.at[join(at, "url")]; f.URL == "" && f.Path == "" {
		if !wrong {
			r.fault(at, "neither url nor path is set", "set url to the address of the file, or path to a file on this machine")
		}
		return
	}
	if f.URL != "" && f.Path != "" {
		r.fault(join(at, "path"), "path cannot be combined with url", "remove one of them")
		return
	}
	if p, given := r.at[join(at, "sha256")]; f.URL != "" && f.SHA256 == "" && (!given || isEmpty(p.value)) {
		r.fault(at, "field \"sha256\" is missing; a file with url needs it", "add the checksum that its publisher names")
	}
	f.SHA256 = strings.ToLower(f.SHA256)
	u, err := url.Parse(f.URL)
	if err != nil {
		return // it was reported
	}
	f.URL = u.Scheme + f.URL[len(u.Scheme):] // in lower case
	if p, given := r.at[join(at, "target")]; f.Target != "" || given {
		if given && isEmpty(p.value) {
			r.fault(join(at, "target"), "target is empty", "remove it, or write a name such as tools/oc.tar.gz")
		}
		return
	}
	field := "path"
	f.Target = filepath.Base(f.Path)
	if f.URL != "" {
		field, f.Target = "url", path.Base(u.Path)
	}
	if message, _ := checkFileName(f.Target); message != "" {
		r.fault(join(at, field), message, "set target to the name of the file")
	}
}

// checkFiles reports files that cannot be written to one folder, also on systems whose names have no case.
func checkFiles(r *reader, at string, files []File) {
	var names fileartifact.Names
	lines := map[string]int{}
	for i, f := range files {
		if f.Target == "" {
			continue // it was reported
		}
		wrong := names.Add(f.Target)
		if wrong == nil {
			lines[f.Target] = f.Pos.Line
			continue
		}
		message := fmt.Sprintf("%v; the other file is %s", wrong, onLine(lines[wrong.Other]))
		if wrong.Name == wrong.Other {
			message = fmt.Sprintf("the file %s is already %s", quote(f.Target), onLine(lines[wrong.Other]))
		}
		r.fault(fmt.Sprintf("%s[%d]", at, i), message, "give one of them another target")
	}
}

func checkFileName(s string) (message, hint string) {
	if err := fileartifact.CheckNewName(s); err != nil {
		return err.Error(), "write a name such as tools/oc.tar.gz"
	}
	return "", ""
}

// fileAddress is the grammar of the address of a file. A query may contain a secret, which plans and archives
// would show.
func fileAddress() grammar {
	return grammar{pattern: "^https?://", check: func(s string) (string, string) {
		u, err := url.Parse(s)
		switch {
		case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Host == "", strings.Trim(u.Path, "/") == "":
			return quote(redact.Address(s)) + " is not the address of a file", "write https://HOST/PATH"
		case u.User != nil:
			return "the address contains a user or password", fmt.Sprintf("remove it, and add it for %s to the file of credentials", u.Host)
		case u.RawQuery != "" || u.Fragment != "":
			return "the address has a query or a fragment, which may be secret", "download the file, and name it with path"
		}
		return "", ""
	}}
}

// checksum is the grammar of a SHA-256.
func checksum() grammar {
	return grammar{
		pattern: "^[0-9a-fA-F]{64}$",
		repair: func(s string) (better, why string) {
			if rest, ok := strings.CutPrefix(s, "sha256:"); ok {
				return rest, "has the prefix sha256:"
			}
			return s, ""
		},
		check: func(s string) (string, string) {
			if digest.NewDigestFromEncoded(digest.SHA256, strings.ToLower(s)).Validate() != nil {
				return quote(s) + " is not a SHA-256", "write the 64 hexadecimal digits that sha256sum prints"
			}
			return "", ""
		},
	}
}
