package resources

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gantry-mirror/gantry/pkg/reference"
)

// imageTemplateKey is the annotation of a CatalogSource with a reference in which OLM replaces the
// version of Kubernetes. The result replaces spec.image (operator-lifecycle-manager,
// pkg/lib/catalogsource).
const imageTemplateKey = "olm.catalogImageTemplate"

// An ImageTemplate is the value of the annotation olm.catalogImageTemplate of a CatalogSource:
// "quay.io/org/index:v{kube_major_version}.{kube_minor_version}".
type ImageTemplate string

// ReadImageTemplate returns the annotation of a CatalogSource; "" if it has none. An invalid
// CatalogSource has none; Build reports that.
func ReadImageTemplate(text []byte) ImageTemplate {
	t, err := readSourceTemplate(text)
	if err != nil {
		return ""
	}
	return t.image
}

// The variables, in the order of the parts of a version.
var imageVariables = []string{"{kube_major_version}", "{kube_minor_version}", "{kube_patch_version}"}

// ErrNoPatch means that an image template needs a patch version that is unknown.
var ErrNoPatch = errors.New("the patch version of Kubernetes is unknown")

// Resolve returns the reference for a version of Kubernetes: "1.33.4", or "1.33" if its patch version
// is unknown. The error matches ErrNoPatch if the template needs it. Other variables, and a result that
// is not a reference, are errors; OLM leaves the catalog as it is then.
func (t ImageTemplate) Resolve(kubernetes string) (reference.Reference, error) {
	text, parts := string(t), strings.Split(kubernetes, ".")
	for i, variable := range imageVariables {
		if !strings.Contains(text, variable) {
			continue
		}
		if i >= len(parts) {
			return reference.Reference{}, ErrNoPatch
		}
		text = strings.ReplaceAll(text, variable, parts[i])
	}
	ref, err := reference.Parse(text)
	switch {
	case strings.ContainsAny(text, "{}"):
		return ref, fmt.Errorf("%s: the variables are %s", text, strings.Join(imageVariables, ", "))
	case err != nil:
		return ref, err
	case ref.Digest != "":
		return ref, fmt.Errorf("%s has a digest, which is the same for every version", text)
	case ref.Tag == "":
		ref.Tag = "latest"
	}
	return ref, nil
}

// pattern matches the references that a template resolves to.
func (t ImageTemplate) pattern() *regexp.Regexp {
	text := regexp.QuoteMeta(string(t))
	for _, variable := range imageVariables {
		text = strings.ReplaceAll(text, regexp.QuoteMeta(variable), "[0-9]+")
	}
	return regexp.MustCompile("^" + text + "$") // quoted text is valid
}

// splitTag returns repository and tag of a template, the tag with its colon.
func (t ImageTemplate) splitTag() (repository, tag string) {
	at := strings.LastIndexByte(string(t), ':')
	if at < strings.LastIndexByte(string(t), '/') {
		return string(t), ":latest"
	}
	return string(t[:at]), string(t[at:])
}

// inMirror returns the template for a mirror, and the tags that it has there. The catalogs of the
// mirror that the template resolves to show where they are. Without any, the result is "".
func (t ImageTemplate) inMirror(catalogs []Catalog) (ImageTemplate, []string, error) {
	repository, tag := t.splitTag()
	pattern := (ImageTemplate(repository + tag)).pattern()
	found, tags := "", []string(nil)
	for _, c := range catalogs {
		ref, err := reference.Parse(c.Source)
		if err != nil || ref.Tag == "" || c.Mirror.Tag != ref.Tag || !pattern.MatchString(ref.Name()+":"+ref.Tag) {
			continue
		}
		place := c.Mirror.Name()
		if strings.Contains(repository, "{") {
			// The path varies, so the mirror has to keep it.
			_, path, _ := strings.Cut(repository, "/")
			prefix, kept := strings.CutSuffix(place, ref.Path)
			if !kept {
				return "", nil, fmt.Errorf("%s is %s in the mirror, whose path does not end alike", ref, place)
			}
			place = prefix + path
		}
		if found != "" && found != place {
			return "", nil, fmt.Errorf("its images are in several repositories of the mirror, %s and %s", found, place)
		}
		found, tags = place, append(tags, c.Mirror.Tag)
	}
	if found == "" {
		return "", nil, nil
	}
	slices.Sort(tags)
	return ImageTemplate(found + tag), slices.Compact(tags), nil
}

// rewriteImageTemplate puts the mirror into the annotation, and adds a note on the versions that the
// mirror has.
func (t *sourceTemplate) rewriteImageTemplate(all []Catalog) {
	if t.image == "" {
		return
	}
	now, tags, err := t.image.inMirror(all)
	switch {
	case err != nil:
		t.notes = append(t.notes, fmt.Sprintf("its annotation %s still names %s, which replaces the mirrored catalog: %v", imageTemplateKey, t.image, err))
	case now == "":
		t.notes = append(t.notes, fmt.Sprintf("its annotation %s makes OLM replace the mirrored catalog with %s, and the mirror has none of these images; "+
			"remove the annotation, or mirror the platform releases that the clusters run", imageTemplateKey, t.image))
	default:
		annotations, _ := t.metadata["annotations"].(map[string]any) // was read from it
		annotations[imageTemplateKey] = string(now)
		t.notes = append(t.notes, fmt.Sprintf("its annotation %s is now %s; the mirror has %s", imageTemplateKey, now, strings.Join(tags, ", ")))
	}
}
