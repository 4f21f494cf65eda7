package diagram

// svgStyle is the style sheet of a picture: the light colors, then the differences of the dark
// ones. Viewers without media queries use the light colors. It has no custom properties, because
// not every viewer supports them.
const svgStyle = `
text{font-family:"Helvetica Neue",Helvetica,Arial,"Liberation Sans",sans-serif;fill:#1f2328}
.page{fill:#fff}
.title{font-size:21px;font-weight:700}
.graph{font-size:16px;font-weight:700}
.note,.word{font-size:12px;fill:#59636e}
.rule{stroke:#d1d9e0;stroke-width:1}
.label{font-size:13px;font-weight:700}
.detail{font-size:10px;fill:#59636e}
.more{font-size:10px;fill:#59636e;font-style:italic}
.box,.sheet{fill:#f6f8fa;stroke:#818b98;stroke-width:1.2}
.chosen .box{fill:#dafbe1;stroke:#1a7f37}
.faded .box{fill:#fff;stroke:#c1c8d0}
.faded .sheet{fill:#fff;stroke:#d1d9e0}
.faded .label{fill:#6e7781;font-weight:400}
.faded .detail,.faded .more{fill:#6e7781}
.strong .box{stroke:#1f2328;stroke-width:2.8}
.strong.chosen .box{stroke:#1a7f37}
.strong.faded .box{stroke:#818b98}
.dashed .box{stroke-dasharray:6 3.5}
.absent .box{fill:none;stroke:#818b98;stroke-width:1.4;stroke-dasharray:.1 4;stroke-linecap:round}
.absent .label,.absent .detail{font-weight:400;font-style:italic;fill:#59636e}
.here .box{stroke:#0969da;stroke-width:2.8}
.tick,.cross{fill:none;stroke:#1a7f37;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
.cross{stroke:#818b98;stroke-width:1.6}
.badge rect{fill:#eaeef2;stroke:#818b98;stroke-width:.8}
.badge text{font-size:9.5px;font-weight:700}
.badge.is-strong rect{fill:#1f2328;stroke:#1f2328}
.badge.is-here rect{fill:#0969da;stroke:#0969da}
.badge.is-strong text,.badge.is-here text{fill:#fff}
.badge.is-notice rect{fill:#fff8c5;stroke:#9a6700}
.badge.is-notice text{fill:#633c01}
.frame{fill:none;stroke:#afb8c1;stroke-width:1}
.edge path{fill:none;stroke:#59636e;stroke-width:1.5}
.edge .tip{fill:#59636e;stroke:none}
.edge.dash path{stroke-dasharray:7 4}
.edge.dots path{stroke-dasharray:.1 4.5;stroke-width:2;stroke-linecap:round}
.edge.pale path{stroke:#c1c8d0}
.edge.pale .tip{fill:#c1c8d0}
.edge .tip,.edge.dash .tip,.edge.dots .tip{stroke-dasharray:none}
.on rect{fill:#fff}
.on text{font-size:10px;fill:#59636e}
.node:hover .box,.edge:hover path{stroke-width:3}
@media (prefers-color-scheme:dark){
text{fill:#f0f6fc}
.page{fill:#0d1117}
.note,.word,.detail,.more,.on text{fill:#9198a1}
.rule{stroke:#3d444d}
.box,.sheet{fill:#1c2128;stroke:#7d8590}
.chosen .box{fill:#12361f;stroke:#3fb950}
.faded .box,.faded .sheet{fill:#0d1117;stroke:#3d444d}
.faded .label,.faded .detail,.faded .more{fill:#848d97}
.strong .box{stroke:#f0f6fc}
.strong.chosen .box{stroke:#3fb950}
.strong.faded .box{stroke:#7d8590}
.absent .box{fill:none;stroke:#7d8590}
.absent .label,.absent .detail{fill:#9198a1}
.here .box{stroke:#4493f8}
.tick{stroke:#3fb950}
.cross{stroke:#7d8590}
.badge rect{fill:#30363d;stroke:#7d8590}
.badge.is-strong rect{fill:#f0f6fc;stroke:#f0f6fc}
.badge.is-strong text{fill:#0d1117}
.badge.is-here rect{fill:#1f6feb;stroke:#1f6feb}
.badge.is-here text{fill:#fff}
.badge.is-notice rect{fill:#3b2a00;stroke:#d29922}
.badge.is-notice text{fill:#f2cc60}
.frame{stroke:#484f58}
.edge path{stroke:#9198a1}
.edge .tip{fill:#9198a1}
.edge.pale path{stroke:#484f58}
.edge.pale .tip{fill:#484f58}
.on rect{fill:#0d1117}
}
`
