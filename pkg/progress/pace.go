package progress

import "time"

// window is how far back speed looks: what was long ago says little of what is
// left, and less than this jumps.
const window = 30 * time.Second

// A pace keeps the readings of the window.
type pace struct {
	what  string
	marks []mark
}

// A mark is how much had been worked at a time.
type mark struct {
	at     time.Time
	worked int64
}

func newPace(now time.Time, r Reading) *pace {
	p := &pace{}
	p.note(now, r)
	return p
}

// note keeps a reading. Where something else is done now, what was before says
// nothing. Where less has been worked than before, since an attempt failed and
// is made again, the line was not slower for it.
func (p *pace) note(now time.Time, r Reading) {
	if r.What != p.what {
		p.what, p.marks = r.What, nil
	}
	if n := len(p.marks); n > 0 {
		if lost := p.marks[n-1].worked - r.worked(); lost > 0 {
			for i := range p.marks {
				p.marks[i].worked -= lost
			}
		}
	}
	for len(p.marks) > 1 && now.Sub(p.marks[1].at) >= window {
		p.marks = p.marks[1:]
	}
	p.marks = append(p.marks, mark{now, r.worked()})
}

// frame adds to a reading what the window says.
func (p *pace) frame(now time.Time, r Reading) Frame {
	p.note(now, r)
	f := Frame{Reading: r, At: now, Left: -1}
	took := now.Sub(p.marks[0].at).Seconds()
	worked := r.worked() - p.marks[0].worked
	if took < 1 || worked <= 0 {
		return f
	}
	f.PerSecond = float64(worked) / took
	done, total := r.position()
	if left := float64(total-done) / f.PerSecond; left < (1000 * time.Hour).Seconds() {
		f.Left = time.Duration(left * float64(time.Second)).Round(time.Second)
	}
	return f
}
