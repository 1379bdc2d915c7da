"""Lagrangian SVDD: the paper's Tables 1-11 and Figures 1-3 on CBCL faces and USPS digits.

    FEWLABELS_DATA=/path/to/data python benchmarks lagrangian_svdd
    python benchmarks lagrangian_svdd --data FOLDER --out FOLDER [--quick] [--only faces]

Writes lagrangian_svdd.md, lagrangian_svdd.json and three pictures (lagrangian_svdd-quick.* with
--quick). The data folder holds cbcl_faces.npz and usps.npz. A few minutes on two cores, --quick
half a minute. Run it with nothing else on the machine: it compares seconds.
"""

from __future__ import annotations

from papers.lagrangian_svdd import experiments, pictures, report
from shared.common import data_folder, machine, options, write_json, write_text

PARTS = ["faces", "sizes", "parameters", "digits"]


def main():
    parser = options(__doc__)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="parts to run")
    args = parser.parse_args()
    folder = data_folder(args)
    budget = 0.2 if args.quick else 4.0
    results = {"machine": machine(), "quick": args.quick, **dict.fromkeys(PARTS)}
    run = {
        "faces": lambda: experiments.face_detection(folder, budget, 600 if args.quick else None),
        "sizes": lambda: experiments.sizes(folder, budget / 2, args.quick),
        "parameters": lambda: experiments.parameters(folder, args.quick),
        "digits": lambda: experiments.digits(folder, budget / 4, args.quick),
    }
    for part in args.only:
        print(f"{part} ...", flush=True)
        results[part] = run[part]()
    stem = "lagrangian_svdd" + ("-quick" if args.quick else "")
    text = report.report(results, stem)
    write_json(args.out / f"{stem}.json", results)
    write_text(args.out / f"{stem}.md", text)
    names = pictures.draw(results, args.out, stem)
    print(text)
    print(f"Written to {args.out}: {stem}.md, {stem}.json, {', '.join(names)}")


if __name__ == "__main__":
    main()
