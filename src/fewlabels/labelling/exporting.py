"""The table with its labels, as a file."""

from ..io.atomic import replacing
from ..io.paths import check_output, is_compressed, output_format
from ..io.write import table_writer


def export_labels(session, path):
    """Write the table of a session with a column of labels; how many rows have one."""
    form = output_format(path)
    check_output(path, inputs=[session.rows.source, session.file.path])
    labels = session.labels
    table = session.rows.with_labels(session.target, labels)
    with replacing(path) as name, table_writer(name, form, is_compressed(path)) as append:
        append(table)
    return len(labels)
