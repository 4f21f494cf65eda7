package resources

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// A mirrorSet is an ImageDigestMirrorSet, ImageTagMirrorSet (config.openshift.io/v1) or
// ImageContentSourcePolicy (operator.openshift.io/v1alpha1) with its fields in the usual order.
type mirrorSet struct {
	APIVersion string        `yaml:"apiVersion"`
	Kind       string        `yaml:"kind"`
	Metadata   objectName    `yaml:"metadata"`
	Spec       mirrorSetSpec `yaml:"spec"`
}

type objectName struct {
	Name string `yaml:"name"`
}

type mirrorSetSpec struct {
	ByDigest []mirrorRule `yaml:"imageDigestMirrors,omitempty"`
	ByTag    []mirrorRule `yaml:"imageTagMirrors,omitempty"`
	Policy   []mirrorRule `yaml:"repositoryDigestMirrors,omitempty"`
}

// A setForm is a kind of mirror set.
type setForm struct {
	prefix, kind, apiVersion string
	byDigest                 bool
}

// forms returns the kinds of mirror sets that are written: those for digests and tags, or the one of
// clusters before OpenShift 4.13. The machine-config operator refuses changes if a cluster has both.
//
// https://github.com/openshift/machine-config-operator/pull/3037
func (o *Options) forms() []setForm {
	if o.ICSP {
		return []setForm{{"icsp", "ImageContentSourcePolicy", "operator.openshift.io/v1alpha1", true}}
	}
	const version = "config.openshift.io/v1"
	return []setForm{{"idms", "ImageDigestMirrorSet", version, true}, {"itms", "ImageTagMirrorSet", version, false}}
}

type mirrorRule struct {
	Source  string   `yaml:"source"`
	Mirrors []string `yaml:"mirrors"`
	Policy  string   `yaml:"mirrorSourcePolicy,omitempty"`
}

// mirrorSets returns the mirror sets for images. A source that two kinds need is written to the
// sets of both, with the same mirrors, so that the sets of each kind are complete and merge without
// conflicting orders.
func mirrorSets(images []Image, opts Options) (files []File, notes []string, err error) {
	pulls, tags, notes, err := readPulls(images)
	if err != nil {
		return nil, nil, err
	}
	entries := chooseScopes(pulls)
	for _, p := range pulls {
		if fault := lookUp(p, entries, tags, opts.MirrorSourcePolicy); fault != "" {
			notes = append(notes, p.notFound(fault))
		} else if opts.ICSP && !p.byDigest {
			notes = append(notes, p.notFound("an ImageContentSourcePolicy redirects no tags"))
		}
	}
	for _, form := range opts.forms() {
		rules := map[string][]mirrorRule{} // by kind
		for _, e := range entries {
			i := index(form.byDigest)
			for _, kind := range e.kinds[i] {
				rules[kind] = append(rules[kind], mirrorRule{e.source, e.mirrors[i], opts.MirrorSourcePolicy})
			}
		}
		for _, kind := range sortedKeys(rules) {
			group := kind
			if opts.Suffix != "" {
				group += "-" + opts.Suffix
			}
			more, err := split(rules[kind], group, form, opts.MaxBytes, 0, 0)
			if err != nil {
				return nil, nil, err
			}
			files = append(files, more...)
		}
	}
	return files, notes, nil
}

// split writes rules as one set with number n, called for example idms-group-n. If it exceeds limit bytes, split divides the rules
// by the next bit of their sources' hashes into the sets n and n + 2^bits. A rule therefore stays
// in its set when others are added, until that set overflows; cutting a sorted list into pieces
// would move rules in all sets that follow. Numbers are unique, but may have gaps.
func split(rules []mirrorRule, group string, form setForm, limit, bits, n int) ([]File, error) {
	if len(rules) == 0 {
		return nil, nil
	}
	file, err := writeMirrorSet(rules, group, form, n)
	if err != nil {
		return nil, err
	}
	if len(file.Text) <= limit {
		return []File{file}, nil
	}
	if len(rules) == 1 || bits == 30 {
		return nil, fmt.Errorf("writing %s: the mirrors of %s alone take %d bytes, the limit is %d", file.Name, rules[0].Source, len(file.Text), limit)
	}
	var halves [2][]mirrorRule
	for _, r := range rules {
		sum := sha256.Sum256([]byte(r.Source))
		half := binary.LittleEndian.Uint32(sum[:]) >> bits & 1
		halves[half] = append(halves[half], r)
	}
	low, err := split(halves[0], group, form, limit, bits+1, n)
	if err != nil {
		return nil, err
	}
	high, err := split(halves[1], group, form, limit, bits+1, n+1<<bits)
	return append(low, high...), err
}

func writeMirrorSet(rules []mirrorRule, group string, form setForm, n int) (File, error) {
	set := mirrorSet{APIVersion: form.apiVersion, Kind: form.kind}
	set.Metadata.Name = fmt.Sprintf("%s-%s-%d", form.prefix, group, n)
	switch form.prefix {
	case "idms":
		set.Spec.ByDigest = rules
	case "itms":
		set.Spec.ByTag = rules
	default:
		set.Spec.Policy = rules
	}
	text, err := encode(set)
	if err != nil {
		return File{}, fmt.Errorf("writing %s: %w", set.Metadata.Name, err)
	}
	return File{Name: set.Metadata.Name + ".yaml", Text: text}, nil
}

// encode writes v as YAML in the order of its fields, indented as kubectl does.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	enc.CompactSeqIndent()
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), enc.Close()
}
