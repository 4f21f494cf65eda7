package imageset

import (
	"bytes"
	"fmt"
)

// checkTargets reports entries that would get the same tag in the mirror, and removes entries that
// repeat an earlier one.
func checkTargets(r *reader, operators, images string, m *Mirror) {
	claims := claims{}
	var again []int
	for i := range m.Operators {
		o := &m.Operators[i]
		if claims.take(r, fmt.Sprintf("%s[%d]", operators, i), claim{
			list: operators, source: o.Catalog, pos: o.Pos, chosen: o.TargetCatalog != "" || o.TargetTag != "",
			target: targetOf(o.Catalog, o.TargetCatalog, o.TargetTag), text: operatorObject().encode(o),
			merge: "put the packages of both into one entry", move: "give one of them another targetCatalog or targetTag",
		}) {
			again = append(again, i)
		}
	}
	m.Operators = without(m.Operators, again)
	again = nil
	object := imageObject()
	for i := range m.AdditionalImages {
		image := &m.AdditionalImages[i]
		if claims.take(r, fmt.Sprintf("%s[%d]", images, i), claim{
			list: images, source: image.Name, pos: image.Pos, chosen: image.TargetRepo != "" || image.TargetTag != "",
			target: targetOf(image.Name, image.TargetRepo, image.targetTag(object)), text: object.encode(image),
			merge: "remove one of the two", move: "give one of them another targetRepo or targetTag",
		}) {
			again = append(again, i)
		}
	}
	m.AdditionalImages = without(m.AdditionalImages, again)
}

// targetTag returns the tag that the configuration alone gives an image. The tags of a rule are known
// later, so it stands for them itself.
func (i *Image) targetTag(of object[Image]) string {
	if i.Tags != nil {
		return string(of.encode(i))
	}
	return i.TargetTag
}

// A claim is a tag in the mirror that an entry needs.
type claim struct {
	list, source string
	pos          Position
	chosen       bool // by the configuration; Gantry may change other targets
	target       target
	text         []byte // the entry as JSON
	merge, move  string // hints for an entry that is listed twice
}

// claims are the tags that entries need.
type claims map[target]claim

// take adds c, or reports that another entry has the same target. It reports whether that entry has
// the same settings.
func (all claims) take(r *reader, path string, c claim) (again bool) {
	if c.source == "" {
		return false
	}
	before, taken := all[c.target]
	switch same := before.source == c.source && before.list == c.list; {
	case !taken:
		all[c.target] = c
	case same && bytes.Equal(before.text, c.text):
		r.warnAt(c.pos, path, warning{Problem: Problem{Message: twice(quote(c.source), before.pos)}, fix: r.drop(path)})
		return true
	case same:
		r.faultAt(c.pos, path, fmt.Sprintf("%s is already %s, with other settings", quote(c.source), onLine(before.pos.Line)), c.merge+", or "+c.move)
	case before.chosen || c.chosen:
		r.warnAt(c.pos, path, warning{unusable: true, Problem: Problem{Message: fmt.Sprintf("%s and %s%s would both become %s in the mirror",
			quote(c.source), quote(before.source), atLine(before.pos.Line), quote(c.target.repo+":"+c.target.tag)), Hint: c.move}})
	}
	return false
}
